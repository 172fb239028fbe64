//go:build unix && !linux

package postmaster

import "syscall"

// DiesWithProgram reports whether the server ends when this program is killed.
const DiesWithProgram = false

// tie does nothing, since only Linux has a parent-death signal. After a SIGKILL of this
// program the server goes on; its socket is private, so no other user can reach it.
func tie(*syscall.SysProcAttr) {}

// memoryFolder returns "": these systems have no standard file system in memory.
func memoryFolder() string { return "" }
