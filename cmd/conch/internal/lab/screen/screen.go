// Package screen shows the progress of an experiment: a table that is drawn again in place on a terminal, plain lines
// elsewhere.
package screen

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
)

// Config describes where to show it.
type Config struct {
	Out      io.Writer
	Terminal bool
	// Width returns the current width of the terminal: a wrapped line would spoil the redraw. 0: unknown.
	Width func() int
}

// Screen is one view. It belongs to one goroutine.
type Screen struct {
	cfg   Config
	start time.Time
	table bool
	lines int // height of the table as last drawn
	notes []string
}

// What a terminal is told.
const (
	HideCursor = "\x1b[?25l"
	ShowCursor = "\x1b[?25h"
	ClearBelow = "\x1b[J"
)

const shownNotes = 6

// New returns a screen whose clock starts now.
func New(cfg Config) *Screen { return &Screen{cfg: cfg, start: time.Now()} }

// Say prints a line, before the table is opened or after it is closed.
func (s *Screen) Say(format string, args ...any) { _, _ = fmt.Fprintf(s.cfg.Out, format+"\n", args...) }

// tells sends a terminal what it obeys. Whatever else is in it has to be inert.
func (s *Screen) tells(text string) { _, _ = io.WriteString(cli.Beneath(s.cfg.Out), text) }

// Note records an event: a line below the table, or a plain line.
func (s *Screen) Note(format string, args ...any) {
	line := fmt.Sprintf("%6.1fs  ", time.Since(s.start).Seconds()) + fmt.Sprintf(format, args...)
	if !s.cfg.Terminal {
		s.Say("%s", line)
		return
	}
	s.notes = append(s.notes, line)
	s.notes = s.notes[max(0, len(s.notes)-shownNotes):]
}

// Open begins to show the table.
func (s *Screen) Open() {
	if s.cfg.Terminal {
		s.table = true
		s.tells(HideCursor)
	}
}

// Close leaves the last table on the screen and shows the cursor again.
func (s *Screen) Close() {
	if s.table {
		s.table = false
		s.tells(ShowCursor)
	}
}

// Draw draws the table and the newest notes in the place of the last ones. It asks for the table only if it is shown.
func (s *Screen) Draw(render func() string) {
	if !s.table {
		return
	}
	var b strings.Builder
	if s.lines > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r", s.lines)
	}
	b.WriteString(ClearBelow)
	text := render()
	for _, line := range s.notes {
		text += line + "\n"
	}
	text = narrow(text, s.cfg.Width())
	s.lines = strings.Count(text, "\n")
	b.WriteString(text)
	s.tells(b.String())
}

// narrow makes every line inert and cuts it to the width; 0 means unknown and cuts nothing.
func narrow(text string, width int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line, _ = strings.CutSuffix(line, "\n")
		line = cli.Inert(line)
		if runes := []rune(line); width > 0 && len(runes) > width {
			line = string(runes[:width])
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
