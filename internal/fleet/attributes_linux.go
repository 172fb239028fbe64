package fleet

import "syscall"

// nodeAttributes sets a separate process group, so that Ctrl-C reaches the supervisor alone,
// and SIGKILL when the supervisor dies.
func nodeAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
