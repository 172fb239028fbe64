//go:build unix && !linux

package fleet

import "syscall"

// nodeAttributes sets a separate process group, so that Ctrl-C reaches the supervisor alone.
// Nodes notice the supervisor's death by the end of their stdin.
func nodeAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
