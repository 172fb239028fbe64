//go:build unix && !linux

package postmaster

import "syscall"

// DiesWithProgram says whether the server ends with a program that is killed.
const DiesWithProgram = false

// tie does nothing here: no other system has a parent-death signal. After a
// SIGKILL of the program the server goes on until somebody ends it; nobody else
// can reach it, for its socket is private.
func tie(*syscall.SysProcAttr) {}

// memoryFolder is empty: there is no file system in memory one can count on.
func memoryFolder() string { return "" }
