//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// terminalOf is the terminal that this process belongs to. The methods of a nil
// one, which is that of a service, do nothing.
type terminalOf struct {
	file  *os.File
	state *term.State // as it was when we had it
}

// openTerminal returns nil if there is none.
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

// group is the process group that a command has to join to be on the terminal
// whenever we are; 0 if there is none.
func (t *terminalOf) group() int {
	if t == nil {
		return 0
	}
	return unix.Getpgrp()
}

// restore repairs what a command that was killed left behind: a terminal in raw
// mode, or in the hands of a process group that is dead. One that has been given
// to somebody else, by a shell, is left alone.
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
