//go:build !linux

package main_test

import "syscall"

// ownSession changes nothing here: only Linux shares its processors out among sessions.
func ownSession() *syscall.SysProcAttr { return nil }
