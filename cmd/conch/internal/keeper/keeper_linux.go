package keeper

import (
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/conchhq/conch/fence"
)

// selfExe is this program even if its file has been replaced meanwhile.
const selfExe = "/proc/self/exe"

// Keeper is conch's side of a keeper's process.
type Keeper struct {
	cmd    *exec.Cmd
	orders *writer
	grace  time.Duration
	report func(Report)
	done   chan struct{}

	mu    sync.Mutex
	watch *time.Timer // kills a keeper that has let a deadline come too near
}

// Keep starts a keeper. It starts the command with the first deadline that
// leaves time to end it again.
func Keep(cfg Config) (*Keeper, error) {
	// Whatever the keeper leaves behind, should it be killed, becomes ours to kill.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, os.NewSyscallError("PR_SET_CHILD_SUBREAPER", err)
	}
	theirOrders, orders, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = theirOrders.Close() }()
	reports, theirReports, err := os.Pipe()
	if err != nil {
		_ = orders.Close()
		return nil, err
	}
	defer func() { _ = theirReports.Close() }()

	args := []string{Command, "--grace", cfg.Grace.String(), "--group", strconv.Itoa(cfg.Group)}
	if cfg.Isolate {
		args = append(args, "--isolate")
	}
	k := &Keeper{orders: &writer{to: orders}, grace: cfg.Grace, report: cfg.Report, done: make(chan struct{})}
	k.cmd = exec.Command(selfExe, append(append(args, "--"), cfg.Command...)...) //nolint:noctx // it ends when its work is done, and no sooner
	k.cmd.Args[0] = "conch"
	k.cmd.Env = cfg.Env
	k.cmd.Stdin, k.cmd.Stdout, k.cmd.Stderr = cfg.Stdin, cfg.Stdout, cfg.Stderr
	k.cmd.ExtraFiles = []*os.File{theirOrders, theirReports}
	// A session of its own keeps it from all that befalls ours. It cannot have one
	// if the command is to stay on our terminal, which belongs to one session; then
	// a process group of its own and deaf ears have to do. Should it be stopped when we
	// are killed, who would have noticed, our death continues it and it finds us gone.
	// That of the thread which starts it says the same, and continues whoever runs.
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: cfg.Group == 0, Setpgid: cfg.Group != 0, Pdeathsig: unix.SIGCONT}
	if err := ours.fork(k.cmd); err != nil {
		_ = orders.Close()
		_ = reports.Close()
		return nil, err
	}
	go k.listen(reports)
	return k, nil
}

// listen passes the keeper's reports on. Should it end before the tree does, we
// do the rest of its work.
func (k *Keeper) listen(reports io.ReadCloser) {
	defer close(k.done)
	empty := false
	readReports(reports, func(r Report) {
		if r.Kind == Empty {
			empty = true // said below, when the keeper is buried too
			return
		}
		k.report(r)
	})
	_ = reports.Close()
	ours.lost(k.cmd, !empty)
	k.mu.Lock()
	if k.watch != nil {
		k.watch.Stop()
	}
	k.mu.Unlock()
	_ = k.orders.to.Close()
	if !empty {
		k.report(Report{Kind: Abandoned})
		ours.bury(k.cmd.Process.Pid)
	}
	k.report(Report{Kind: Empty})
}

// Deadline hands the keeper a new deadline. Should the keeper be late itself,
// stopped by somebody, it is killed: the command dies with it, and we bury.
func (k *Keeper) Deadline(at fence.Instant) {
	last := at.Add(-k.grace / 4).Sub(fence.Boottime())
	k.mu.Lock()
	if k.watch == nil {
		k.watch = time.AfterFunc(last, func() { _ = k.cmd.Process.Kill() })
	} else {
		k.watch.Reset(last)
	}
	k.mu.Unlock()
	k.orders.line(order{Deadline: at})
}

// Signal passes a signal on to the command's process group.
func (k *Keeper) Signal(sig syscall.Signal) { k.orders.line(order{Signal: int(sig)}) }

// End asks the command to end, and has it killed after that long or shortly
// before the deadline, whichever is first.
func (k *Keeper) End(within time.Duration) { k.orders.line(order{End: &within}) }

// Kill has everything killed at once. A keeper that does not even hear that is
// killed as well.
func (k *Keeper) Kill() {
	k.orders.line(order{Kill: true})
	last := time.AfterFunc(k.grace, func() { _ = k.cmd.Process.Kill() })
	go func() {
		<-k.done
		last.Stop()
	}()
}

// Done is closed after the last report.
func (k *Keeper) Done() <-chan struct{} { return k.done }
