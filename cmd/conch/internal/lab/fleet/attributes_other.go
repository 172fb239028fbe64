//go:build unix && !linux

package fleet

import "syscall"

// nodeAttributes: a process group of its own, so that Ctrl-C reaches the
// supervisor alone. That it is gone, the nodes see by the end of their stdin.
func nodeAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
