package cli

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// takeTerminal brings our process group to the foreground. A process that does so from the
// background is stopped unless it blocks SIGTTOU, so this thread does for one call.
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
