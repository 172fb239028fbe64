package main_test

import "syscall"

// ownSession starts a process in its own session, without our terminal. Linux divides processor
// time among sessions first: a node in our session would compete with the compilers of other
// tests; in its own it gets as much as all of them together.
//
// There is no parent-death signal: it would come when the thread that started the process ends,
// and these tests end threads. If a test run is killed, a node ends at its next output, which
// nobody reads, or when its stdin closes.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
