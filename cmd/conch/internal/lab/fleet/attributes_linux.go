package fleet

import "syscall"

// nodeAttributes: a process group of its own, so that Ctrl-C reaches the
// supervisor alone, and a SIGKILL when the supervisor is gone.
func nodeAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
