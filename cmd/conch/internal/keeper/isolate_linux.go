package keeper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// namespaces are the ways to a PID namespace: by privilege, or as root of a user
// namespace in which only we ourselves exist.
func namespaces() []*unix.SysProcAttr {
	own := func(id int) []syscall.SysProcIDMap {
		return []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
	}
	return []*unix.SysProcAttr{
		{Cloneflags: unix.CLONE_NEWPID},
		{
			Cloneflags:  unix.CLONE_NEWPID | unix.CLONE_NEWUSER,
			UidMappings: own(os.Getuid()), GidMappings: own(os.Getgid()),
		},
	}
}

// CanIsolate finds out whether this process may make a PID namespace, by making one.
func CanIsolate(ctx context.Context) error {
	var err error
	for _, attr := range namespaces() {
		cmd := exec.CommandContext(ctx, selfExe, InitCommand)
		cmd.SysProcAttr = attr
		if err = cmd.Run(); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%w: %w", ErrIsolate, err)
}

// Init is the life of the first process in a namespace: it starts the command,
// buries orphans, and ends as the command does; the kernel then kills whatever is
// left inside. It is in the command's process group, so that signals reach the
// command without its help. It returns the exit code.
func Init(command []string) (int, error) {
	if len(command) == 0 {
		return 0, nil // it was only to be seen whether we get this far
	}
	runtime.LockOSThread()
	signal.Notify(make(chan os.Signal, 1), deafTo...)
	path, err := exec.LookPath(command[0])
	if err != nil {
		return 0, err
	}
	main, err := syscall.ForkExec(path, command, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &unix.SysProcAttr{Pdeathsig: unix.SIGKILL},
	})
	if err != nil {
		return 0, fmt.Errorf("%s: %w", command[0], err)
	}
	for {
		var how unix.WaitStatus
		pid, err := unix.Wait4(-1, &how, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, os.NewSyscallError("wait4", err)
		case pid == main && how.Signaled():
			return signalled + int(how.Signal()), nil
		case pid == main:
			return how.ExitStatus(), nil
		}
	}
}
