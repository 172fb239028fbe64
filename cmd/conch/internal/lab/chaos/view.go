//go:build unix

package chaos

import (
	"fmt"
	"io"
	"time"
)

// view prints progress: lines and, on a terminal, a status line that changes.
type view struct {
	out      io.Writer
	terminal bool
	start    time.Time
	dirty    bool
}

const clearLine = "\r\x1b[K"

func (v *view) seconds() float64 { return time.Since(v.start).Seconds() }

func (v *view) note(format string, args ...any) {
	v.wipe()
	_, _ = fmt.Fprintf(v.out, "%6.1fs  %s\n", v.seconds(), fmt.Sprintf(format, args...))
}

// status shows the current activity, on a terminal only.
func (v *view) status(format string, args ...any) {
	if !v.terminal {
		return
	}
	v.wipe()
	text := []rune(fmt.Sprintf("%6.1fs  %s …", v.seconds(), fmt.Sprintf(format, args...)))
	if len(text) > shown { // a wrapped line could not be wiped
		text = text[:shown]
	}
	_, _ = io.WriteString(v.out, string(text))
	v.dirty = true
}

// shown is a width that fits on every terminal.
const shown = 79

func (v *view) wipe() {
	if v.dirty {
		v.dirty = false
		_, _ = io.WriteString(v.out, clearLine)
	}
}
