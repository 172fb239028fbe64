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

// Serve is the life of a keeper. It expects conch's orders at file 3 and reports
// at file 4, and returns when nothing is left to keep.
func Serve(o Options) error {
	// The command is to die with us, and "us" is the thread that started it.
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
		unix.CloseOnExec(int(f.Fd())) // or the command would keep the lines open
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

// deafTo are the signals that are meant for others: a terminal's, and those of
// whoever stops a whole service at once. The keeper ends when its work is done.
var deafTo = []os.Signal{
	unix.SIGINT, unix.SIGTERM, unix.SIGQUIT, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2,
	unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGWINCH,
}

// kept is the command and its family as the keeper's process sees it.
type kept struct {
	*family
	options Options
	cgroup  *cgroup
	main    int
	ahead   bool // was done
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
			first() // nobody is started from here on who would inherit it
			return k.main, nil
		}
	}
	if k.options.Isolate && (errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC)) { // not allowed, or too many
		return 0, ErrIsolate
	}
	return 0, fmt.Errorf("%s: %w", argv[0], err)
}

// first gives the keeper the processor before all others, if it is allowed to: a
// tree that spawns without end competes for it. The kernel counts by threads.
func first() {
	threads, _ := os.ReadDir("/proc/self/task")
	for _, t := range threads {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, id, foremost)
		}
	}
}

// fork prefers the control group; where that is refused it does without.
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
	if !k.ahead && k.options.Group == 0 { // the session is ours, and all in it are to die
		k.ahead = true
		_ = setAutogroup(foremost)
	}
	if sig == unix.SIGKILL && !k.killing {
		k.killing = true
		k.cgroup.kill()
	}
	return k.family.sweep(sig)
}

// atOnce is how many of the dead are buried between two looks at the clock.
const atOnce = 1000

// reap buries whoever has ended. No child left means no descendant left: those of
// a dead child are children of ours before it can be buried. The dead of a storm
// come faster than they are buried, and must not keep us from the alarm.
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
