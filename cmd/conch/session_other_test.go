//go:build !linux

package main_test

import "syscall"

// ownSession changes nothing here: only Linux divides processor time among sessions.
func ownSession() *syscall.SysProcAttr { return nil }
