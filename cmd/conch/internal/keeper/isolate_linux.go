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

// namespaces returns the ways to make a PID namespace, in the order to try them: with privilege, or
// inside a user namespace that contains only our own user. The caller may change them.
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

// CanIsolate makes a PID namespace once, to see whether this process may. Any failure wraps
// ErrIsolate; of two failures it returns the second one.
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

// Init is the work of the first process in a PID namespace: it starts the command, reaps orphans,
// and returns the command's exit code; the kernel then kills the rest of the namespace. The command
// stays in Init's process group, so a signal to the group reaches it directly.
func Init(command []string) (int, error) {
	if len(command) == 0 {
		return 0, nil // the trial of CanIsolate
	}
	runtime.LockOSThread() // Pdeathsig comes when the thread that forked ends
	// Caught, not ignored: an ignored signal would stay ignored in the command.
	signal.Notify(make(chan os.Signal, 1), Heeded(ignoredSignals...)...)
	path, err := exec.LookPath(command[0])
	if err != nil {
		return 0, err
	}
	mainPID, err := syscall.ForkExec(path, command, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &unix.SysProcAttr{Pdeathsig: unix.SIGKILL},
	})
	if err != nil {
		return 0, notStarted(command[0], err)
	}
	for {
		var how unix.WaitStatus
		pid, err := unix.Wait4(-1, &how, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, os.NewSyscallError("wait4", err)
		case pid == mainPID && how.Signaled():
			return signalBase + int(how.Signal()), nil
		case pid == mainPID:
			return how.ExitStatus(), nil
		}
	}
}
