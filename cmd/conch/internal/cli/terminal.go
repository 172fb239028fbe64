//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// terminalOf is the terminal of this process. The methods of a nil one, as of a service, do nothing.
type terminalOf struct {
	file  *os.File
	state *term.State // its settings at our start, if we were in the foreground
}

// openTerminal returns nil if this process has no terminal.
func openTerminal() *terminalOf {
	file, err := os.OpenFile("/dev/tty", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil
	}
	t := &terminalOf{file: file}
	if t.foreground() == unix.Getpgrp() {
		t.state, _ = term.GetState(int(file.Fd()))
	}
	return t
}

func (t *terminalOf) foreground() int {
	group, _ := unix.IoctlGetInt(int(t.file.Fd()), unix.TIOCGPGRP)
	return group
}

// group returns the group that a command joins to be in the foreground when we are; 0 without a terminal.
func (t *terminalOf) group() int {
	if t == nil {
		return 0
	}
	return unix.Getpgrp()
}

// restore repairs the terminal that a killed command has left in raw mode, or in the hands of a
// dead process group. It leaves alone a terminal that a shell has given to another group.
func (t *terminalOf) restore() {
	if t == nil || t.state == nil {
		return
	}
	if front := t.foreground(); front != unix.Getpgrp() {
		if unix.Kill(-front, 0) == nil || !takeTerminal(t.file) {
			return
		}
	}
	_ = term.Restore(int(t.file.Fd()), t.state)
}

func (t *terminalOf) close() {
	if t != nil {
		_ = t.file.Close()
	}
}
