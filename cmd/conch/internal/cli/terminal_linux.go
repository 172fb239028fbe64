package cli

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// takeTerminal brings our process group to the foreground. Who does that from the
// background is stopped for it unless the signal is blocked, which concerns one
// thread for the length of one call.
func takeTerminal(tty *os.File) bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var blocked, before unix.Sigset_t
	blocked.Val[0] = 1 << (uint(unix.SIGTTOU) - 1)
	if unix.PthreadSigmask(unix.SIG_BLOCK, &blocked, &before) != nil {
		return false
	}
	defer func() { _ = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil) }()
	return unix.IoctlSetPointerInt(int(tty.Fd()), unix.TIOCSPGRP, unix.Getpgrp()) == nil
}
