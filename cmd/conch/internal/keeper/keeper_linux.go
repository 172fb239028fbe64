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

// selfExe names this program, even if its file has been replaced since it started.
const selfExe = "/proc/self/exe"

// Keeper is conch's side of a keeper's process. Its methods are safe for concurrent use.
type Keeper struct {
	cmd    *exec.Cmd
	orders *writer
	grace  time.Duration
	report func(Report)
	done   chan struct{}

	mu        sync.Mutex
	killTimer *time.Timer // kills a keeper that has let the deadline come too near
}

// Keep starts a keeper, which starts the command at the first deadline that leaves time to end it.
func Keep(cfg Config) (*Keeper, error) {
	// The descendants of a killed keeper become our children, for us to kill.
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
	if cfg.User != "" {
		args = append(args, "--user", cfg.User)
	}
	if cfg.Isolate {
		args = append(args, "--isolate")
	}
	k := &Keeper{orders: &writer{to: orders}, grace: cfg.Grace, report: cfg.Report, done: make(chan struct{})}
	k.cmd = exec.Command(selfExe, append(append(args, "--"), cfg.Command...)...) //nolint:noctx // it ends when its work is done, and no sooner
	k.cmd.Args[0] = "conch"
	k.cmd.Env = cfg.Env
	k.cmd.Stdin, k.cmd.Stdout, k.cmd.Stderr = cfg.Stdin, cfg.Stdout, cfg.Stderr
	k.cmd.ExtraFiles = []*os.File{theirOrders, theirReports}
	// Its own session shields the keeper from what is done to ours. If the command is to stay
	// on our terminal, which belongs to one session, a process group and ignored signals must do.
	// If the keeper is stopped when conch is killed, SIGCONT resumes it, and it sees the closed
	// pipe. Pdeathsig also fires when the starting thread ends: SIGCONT does no harm then.
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: cfg.Group == 0, Setpgid: cfg.Group != 0, Pdeathsig: unix.SIGCONT}
	if err := theReaper.startKeeper(k.cmd); err != nil {
		_ = orders.Close()
		_ = reports.Close()
		return nil, err
	}
	go k.listen(reports)
	return k, nil
}

// listen passes on the keeper's reports, and kills the rest of a tree that outlives the keeper.
func (k *Keeper) listen(reports io.ReadCloser) {
	defer close(k.done)
	empty := false
	readReports(reports, func(r Report) {
		if r.Kind == Empty {
			empty = true // reported below, once the keeper is reaped too
			return
		}
		k.report(r)
	})
	_ = reports.Close()
	theReaper.reapKeeper(k.cmd, !empty)
	k.mu.Lock()
	if k.killTimer != nil {
		k.killTimer.Stop()
	}
	k.mu.Unlock()
	_ = k.orders.to.Close()
	if !empty {
		k.report(Report{Kind: KeeperDied})
		theReaper.killOrphans(k.cmd.Process.Pid)
	}
	k.report(Report{Kind: Empty})
}

// Deadline sends the keeper a new deadline. A keeper that is late itself, because it was stopped
// or starved, is killed: the command dies with it, and conch kills the rest.
func (k *Keeper) Deadline(at fence.Instant) {
	last := at.Add(-k.grace / 4).Sub(fence.Boottime())
	k.mu.Lock()
	if k.killTimer == nil {
		k.killTimer = time.AfterFunc(last, func() { _ = k.cmd.Process.Kill() })
	} else {
		k.killTimer.Reset(last)
	}
	k.mu.Unlock()
	k.orders.line(order{Deadline: at})
}

// Signal passes a signal on to the command's process group.
func (k *Keeper) Signal(sig syscall.Signal) { k.orders.line(order{Signal: int(sig)}) }

// End asks the command to end. The command is killed after within or shortly before the
// deadline, whichever comes first.
func (k *Keeper) End(within time.Duration) { k.orders.line(order{End: &within}) }

// Kill kills the whole tree at once. A keeper that has not done so within Grace is killed too.
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
