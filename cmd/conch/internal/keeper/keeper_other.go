//go:build unix && !linux

package keeper

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/step"
)

// Keeper keeps a process group from within conch itself. This is weaker than on Linux: nothing
// ends the command when conch is killed or stopped, and a process that leaves the group is not
// found.
type Keeper struct {
	loop *loop
	done chan struct{}
}

var errLinux = errors.New("this needs Linux")

// Serve fails: it needs Linux.
func Serve(Options) error { return errLinux }

// Init fails: it needs Linux.
func Init([]string) (int, error) { return 0, errLinux }

// CanIsolate returns ErrIsolate: PID namespaces need Linux.
func CanIsolate(context.Context) error { return fmt.Errorf("%w: %w", ErrIsolate, errLinux) }

// CanBecome fails: a command that runs as another user needs Linux.
func CanBecome(string) error { return errLinux }

// Keep prepares to run a command. The first deadline that leaves time to end it starts it.
func Keep(cfg Config) (*Keeper, error) {
	awake := step.NewWake()
	g := &processGroup{cfg: cfg, wake: awake.Ring}
	timer := time.AfterFunc(time.Hour, awake.Ring)
	timer.Stop()
	alarm := func(at fence.Instant) {
		if timer.Stop(); at != 0 {
			timer.Reset(at.Sub(fence.Boottime()))
		}
	}
	k := &Keeper{done: make(chan struct{})}
	k.loop = &loop{
		machine: NewMachine(Settings{Grace: cfg.Grace}), tree: g, orders: step.NewInbox[Input](),
		reap: g.reap, awake: awake, alarm: alarm, tell: cfg.Report,
	}
	go func() {
		defer close(k.done)
		defer timer.Stop()
		k.loop.run()
	}()
	return k, nil
}

func (k *Keeper) order(in Input) { k.loop.orders.Put(in) }

// Deadline sets a new deadline.
func (k *Keeper) Deadline(at fence.Instant) { k.order(Deadline{At: at}) }

// Signal passes a signal on to the command.
func (k *Keeper) Signal(sig syscall.Signal) { k.order(Signal{Number: int(sig)}) }

// End asks the command to end. The command is killed after within or shortly before the
// deadline, whichever comes first.
func (k *Keeper) End(within time.Duration) { k.order(End{Within: within}) }

// Kill kills the group at once.
func (k *Keeper) Kill() { k.order(Kill{}) }

// Done is closed after the last report.
func (k *Keeper) Done() <-chan struct{} { return k.done }

// processGroup is a command and the processes that stay in its process group.
type processGroup struct {
	cfg   Config
	wake  func()
	cmd   *exec.Cmd
	swept bool

	mu    sync.Mutex
	ended *Exited
}

func (g *processGroup) start() (int, error) {
	argv := g.cfg.Command
	g.cmd = exec.Command(argv[0], argv[1:]...) //nolint:noctx // the machine ends it
	g.cmd.Env = g.cfg.Env
	g.cmd.Stdin, g.cmd.Stdout, g.cmd.Stderr = g.cfg.Stdin, g.cfg.Stdout, g.cfg.Stderr
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: g.cfg.Group}
	if err := g.cmd.Start(); err != nil {
		return 0, err
	}
	go func() {
		_ = g.cmd.Wait()
		how, _ := g.cmd.ProcessState.Sys().(syscall.WaitStatus)
		e := Exited{Code: how.ExitStatus()}
		if how.Signaled() {
			e = Exited{Signal: int(how.Signal())}
		}
		g.mu.Lock()
		g.ended = &e
		g.mu.Unlock()
		g.wake()
	}()
	return g.cmd.Process.Pid, nil
}

// signal signals the group, or the command alone if the group is conch's.
func (g *processGroup) signal(sig syscall.Signal) {
	if g.cfg.Group == 0 {
		_ = unix.Kill(-g.cmd.Process.Pid, sig)
		return
	}
	_ = g.cmd.Process.Signal(sig)
}

func (g *processGroup) sweep(sig syscall.Signal) (fresh int) {
	g.signal(sig)
	if !g.swept {
		g.swept, fresh = true, 1
	}
	g.wake() // no signal tells us that the group is empty
	return fresh
}

func (g *processGroup) reap() (inputs []Input) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended == nil {
		return nil
	}
	if *g.ended != (Exited{Code: -1}) {
		inputs = append(inputs, *g.ended)
		*g.ended = Exited{Code: -1} // report it once
	}
	if g.cfg.Group != 0 || errors.Is(unix.Kill(-g.cmd.Process.Pid, 0), unix.ESRCH) {
		inputs = append(inputs, Emptied{})
	}
	return inputs
}
