package keeper

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Serve runs a keeper. It reads conch's orders from file 3, writes reports to file 4, and
// returns when nothing is left to keep.
func Serve(o Options) error {
	// Pdeathsig kills the command when the thread that started it ends: keep that thread.
	runtime.LockOSThread()
	signal.Notify(make(chan os.Signal, 1), deafTo...)
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD)
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
	home := newCgroup(os.Getpid())
	defer func() { home.remove() }()
	awake := make(chan struct{}, 1)
	wake := func() {
		select {
		case awake <- struct{}{}:
		default:
		}
	}
	k := &kept{family: newFamily(o.Group), options: o, cgroup: home, wake: wake}
	alarm, err := newAlarm(wake)
	if err != nil {
		return err
	}
	go func() {
		for range ended {
			wake()
		}
	}()
	w := &writer{to: reports}
	l := &loop{
		machine: NewMachine(Settings{Grace: o.Grace}), tree: k, inputs: make(chan Input),
		reap: k.reap, awake: awake, alarm: alarm, tell: func(r Report) { w.line(r) },
	}
	go readOrders(orders, func(in Input) { l.inputs <- in })
	l.run()
	return nil
}

// deafTo are the signals that the keeper ignores: those of a terminal, and those that stop a
// whole service. The keeper ends when its work is done.
var deafTo = []os.Signal{
	unix.SIGINT, unix.SIGTERM, unix.SIGQUIT, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2,
	unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGWINCH,
}

// kept is the command and its descendants, as the keeper sees them.
type kept struct {
	*family
	options Options
	cgroup  *cgroup
	main    int
	ahead   bool // setAutogroup was called
	killing bool
	wake    func()
}

func (k *kept) start() (int, error) {
	argv := k.options.Command
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return 0, err
	}
	attrs := []*unix.SysProcAttr{{}}
	if k.options.Isolate {
		argv = append([]string{"conch", InitCommand, "--"}, argv...)
		path, attrs = selfExe, namespaces()
	}
	for _, attr := range attrs {
		attr.Pdeathsig = unix.SIGKILL
		attr.Setpgid, attr.Pgid = true, k.options.Group
		if k.main, err = k.fork(path, argv, attr); err == nil {
			first() // no process is started from here on that would inherit the priority
			return k.main, nil
		}
	}
	if k.options.Isolate && (errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC)) { // not allowed, or too many namespaces
		return 0, ErrIsolate
	}
	return 0, fmt.Errorf("%s: %w", argv[0], err)
}

// first gives every thread of the keeper the highest priority, if allowed, since a fork storm
// competes for the processor. The kernel keeps a priority per thread.
func first() {
	threads, _ := os.ReadDir("/proc/self/task")
	for _, t := range threads {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, id, foremost)
		}
	}
}

// fork starts a process in the control group, or without one if that is refused.
func (k *kept) fork(path string, argv []string, attr *unix.SysProcAttr) (int, error) {
	how := &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: attr}
	if k.cgroup != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(k.cgroup.dir.Fd())
		if pid, err := syscall.ForkExec(path, argv, how); err == nil {
			return pid, nil
		}
		attr.UseCgroupFD = false
	}
	pid, err := syscall.ForkExec(path, argv, how)
	if err == nil && k.cgroup != nil {
		k.cgroup.remove()
		k.cgroup = nil
	}
	return pid, err
}

func (k *kept) signal(sig syscall.Signal) {
	if k.options.Group == 0 {
		_ = unix.Kill(-k.main, sig)
		return
	}
	k.family.signal(k.options.Group, sig)
}

func (k *kept) sweep(sig syscall.Signal) int {
	if !k.ahead && k.options.Group == 0 { // our own session, in which all are to die
		k.ahead = true
		_ = setAutogroup(foremost)
	}
	if sig == unix.SIGKILL && !k.killing {
		k.killing = true
		k.cgroup.kill()
	}
	return k.family.sweep(sig)
}

// atOnce is how many children are reaped before the alarm is checked.
const atOnce = 1000

// reap reaps the children that have ended. No child left means no descendant left: the children
// of a dead child become ours before it can be reaped. In a fork storm children die faster than
// they are reaped, which must not keep the keeper from its alarm.
func (k *kept) reap() (inputs []Input) {
	for range atOnce {
		var how unix.WaitStatus
		pid, err := unix.Wait4(-1, &how, unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil: // ECHILD
			if k.main != 0 {
				inputs = append(inputs, Emptied{})
			}
			return inputs
		case pid == 0:
			return inputs
		case pid == k.main && how.Signaled():
			inputs = append(inputs, Exited{Signal: int(how.Signal())})
		case pid == k.main:
			inputs = append(inputs, Exited{Code: how.ExitStatus()})
		}
	}
	k.wake()
	return inputs
}
