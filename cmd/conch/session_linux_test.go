package main_test

import "syscall"

// ownSession starts a process in a session of its own, without our terminal. Linux shares
// the processors out among sessions before it does among processes: in ours a node is one
// of many, beside the compilers of other tests; in its own it gets as much as all of them.
//
// No parent-death signal comes with it: that follows the thread which started the process,
// and threads of these tests end with the servers that they stop. Of a run that is killed a
// node ends with what it says next, since nobody reads it, or with its stdin.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
