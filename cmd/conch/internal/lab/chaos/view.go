//go:build unix

package chaos

import (
	"fmt"
	"io"
	"time"
)

// view shows progress: lines, and on a terminal one more that changes.
type view struct {
	out      io.Writer
	terminal bool
	start    time.Time
	dirty    bool // the changing line is on the screen
}

const clearLine = "\r\x1b[K"

func (v *view) seconds() float64 { return time.Since(v.start).Seconds() }

// note prints a line that stays.
func (v *view) note(format string, args ...any) {
	v.wipe()
	_, _ = fmt.Fprintf(v.out, "%6.1fs  %s\n", v.seconds(), fmt.Sprintf(format, args...))
}

// status shows what goes on, on a terminal only.
func (v *view) status(format string, args ...any) {
	if !v.terminal {
		return
	}
	v.wipe()
	text := []rune(fmt.Sprintf("%6.1fs  %s …", v.seconds(), fmt.Sprintf(format, args...)))
	if len(text) > shown { // a line that wraps could not be wiped
		text = text[:shown]
	}
	_, _ = io.WriteString(v.out, string(text))
	v.dirty = true
}

// shown fits on every terminal.
const shown = 79

func (v *view) wipe() {
	if v.dirty {
		v.dirty = false
		_, _ = io.WriteString(v.out, clearLine)
	}
}
