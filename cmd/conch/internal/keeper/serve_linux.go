package keeper

import (
	"errors"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/conchhq/conch/internal/step"
)

// Serve runs a keeper. It reads conch's orders from file 3, writes reports to file 4, and
// returns when nothing is left to keep.
func Serve(o Options) error {
	// Pdeathsig kills the command when the thread that started it ends: keep that thread.
	runtime.LockOSThread()
	signal.Notify(make(chan os.Signal, 1), Heeded(ignoredSignals...)...)
	childEnded := make(chan os.Signal, 1)
	signal.Notify(childEnded, unix.SIGCHLD)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("PR_SET_CHILD_SUBREAPER", err)
	}
	orders, reports := os.NewFile(3, "orders"), os.NewFile(4, "reports")
	for _, f := range []*os.File{orders, reports} {
		if _, err := f.Stat(); err != nil {
			return errors.New("a keeper is started by conch run, not by hand")
		}
		unix.CloseOnExec(int(f.Fd())) // or the command would keep the pipes open
	}
	group := newCgroup(os.Getpid())
	defer func() { group.remove() }()
	awake := step.NewWake()
	t := &commandTree{descendants: newDescendants(o.Group), options: o, cgroup: group, wake: awake.Ring}
	if o.User != "" {
		credential, who, err := become(o.User)
		if err != nil {
			return err
		}
		t.credential = credential
		for name, value := range who {
			_ = os.Setenv(name, value)
		}
		// A user who is not root would keep what it takes to signal the keeper.
		if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
			return os.NewSyscallError("PR_CAP_AMBIENT", err)
		}
	}
	alarm, err := newAlarm(awake.Ring)
	if err != nil {
		return err
	}
	go func() {
		for range childEnded {
			awake.Ring()
		}
	}()
	w := &writer{to: reports}
	l := &loop{
		machine: NewMachine(Settings{Grace: o.Grace}), tree: t, orders: step.NewInbox[Input](),
		reap: t.reap, awake: awake, alarm: alarm, tell: func(r Report) { w.line(r) },
	}
	go readOrders(orders, func(in Input) { l.orders.Put(in) })
	l.run()
	return nil
}

// ignoredSignals are the signals that the keeper ignores: those of a terminal, and those that stop a
// whole service. The keeper ends when its work is done.
var ignoredSignals = []os.Signal{
	unix.SIGINT, unix.SIGTERM, unix.SIGQUIT, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2,
	unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGWINCH,
}

// commandTree is the command and its descendants, as the keeper sees them.
type commandTree struct {
	*descendants
	options    Options
	cgroup     *cgroup
	mainPID    int
	raised     bool // our session has the highest priority
	killing    bool // cgroup.kill was called
	wake       func()
	credential *syscall.Credential // of the command; nil: ours
}

func (t *commandTree) start() (int, error) {
	argv := t.options.Command
	path, err := Runnable(argv[0])
	if err != nil {
		return 0, err
	}
	attrs := []*unix.SysProcAttr{{}}
	if t.options.Isolate {
		argv = append([]string{"conch", InitCommand, "--"}, argv...)
		path, attrs = selfExe, namespaces()
	}
	for _, attr := range attrs {
		attr.Pdeathsig = unix.SIGKILL
		attr.Setpgid, attr.Pgid = true, t.options.Group
		attr.Credential = t.credential
		if t.mainPID, err = t.fork(path, argv, attr); err == nil {
			raiseAllThreads() // no process is started from here on that would inherit the priority
			return t.mainPID, nil
		}
	}
	if t.options.Isolate && (errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC)) { // not allowed, or too many namespaces
		return 0, ErrIsolate
	}
	return 0, notStarted(t.options.Command[0], err)
}

// fork starts a process in the control group, or without one if that is refused.
func (t *commandTree) fork(path string, argv []string, attr *unix.SysProcAttr) (int, error) {
	how := &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: attr}
	if t.cgroup != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(t.cgroup.dir.Fd())
		if pid, err := syscall.ForkExec(path, argv, how); err == nil {
			return pid, nil
		}
		attr.UseCgroupFD = false
	}
	pid, err := syscall.ForkExec(path, argv, how)
	if err == nil && t.cgroup != nil {
		t.cgroup.remove()
		t.cgroup = nil
	}
	return pid, err
}

func (t *commandTree) signal(sig syscall.Signal) {
	if t.options.Group == 0 {
		_ = unix.Kill(-t.mainPID, sig)
		return
	}
	t.signalGroup(t.options.Group, sig)
}

func (t *commandTree) sweep(sig syscall.Signal) int {
	if !t.raised && t.options.Group == 0 { // our own session, in which all are to die
		t.raised = true
		_ = setSessionNice(highestPriority)
	}
	if sig == unix.SIGKILL && !t.killing {
		t.killing = true
		t.cgroup.kill()
	}
	return t.descendants.sweep(sig)
}

// reapBatch is how many children are reaped before the alarm is checked.
const reapBatch = 1000

// reap reaps the children that have ended. No child left means no descendant left: the children
// of a dead child become ours before it can be reaped. In a fork storm children die faster than
// they are reaped, which must not keep the keeper from its alarm.
func (t *commandTree) reap() (inputs []Input) {
	for range reapBatch {
		var how unix.WaitStatus
		pid, err := unix.Wait4(-1, &how, unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil: // ECHILD
			if t.mainPID != 0 {
				inputs = append(inputs, Emptied{})
			}
			return inputs
		case pid == 0:
			return inputs
		case pid == t.mainPID && how.Signaled():
			inputs = append(inputs, Exited{Signal: int(how.Signal())})
		case pid == t.mainPID:
			inputs = append(inputs, Exited{Code: how.ExitStatus()})
		}
	}
	t.wake()
	return inputs
}
