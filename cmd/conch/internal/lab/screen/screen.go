// Package screen shows the progress of an experiment. On a terminal that is a table, which is drawn again in place, or a line
// that says what is done now; elsewhere there are plain lines alone.
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

// On returns the configuration for what a command prints to.
func On(out io.Writer) Config {
	terminal, width := cli.Terminal(out)
	return Config{Out: out, Terminal: terminal, Width: width}
}

// Screen is one view. It belongs to one goroutine.
type Screen struct {
	cfg    Config
	start  time.Time
	table  bool
	lines  int // height of the table as last drawn
	notes  []string
	status bool // a line is there that the next one replaces
}

// What a terminal is told.
const (
	HideCursor = "\x1b[?25l"
	ShowCursor = "\x1b[?25h"
	ClearBelow = "\x1b[J"
	ClearLine  = "\r\x1b[K"
)

const (
	shownNotes = 6
	shownText  = 79 // of a status: it fits on every terminal, and a wrapped line could not be cleared
)

// New returns a screen whose clock starts now.
func New(cfg Config) *Screen { return &Screen{cfg: cfg, start: time.Now()} }

// Elapsed returns how long the screen has been there.
func (s *Screen) Elapsed() time.Duration { return time.Since(s.start) }

// stamped returns a text behind the seconds that have passed.
func (s *Screen) stamped(format string, args ...any) string {
	return fmt.Sprintf("%6.1fs  ", s.Elapsed().Seconds()) + fmt.Sprintf(format, args...)
}

// Say prints a line, while no table is shown.
func (s *Screen) Say(format string, args ...any) {
	s.Wipe()
	_, _ = fmt.Fprintf(s.cfg.Out, format+"\n", args...)
}

// Status says what is done now, on a terminal alone. It is replaced by the next line.
func (s *Screen) Status(format string, args ...any) {
	if !s.cfg.Terminal {
		return
	}
	s.Wipe()
	text, _ := strings.CutSuffix(narrow(s.stamped(format, args...)+" …", shownText), "\n")
	s.tells(text)
	s.status = true
}

// Wipe ends a status.
func (s *Screen) Wipe() {
	if s.status {
		s.status = false
		s.tells(ClearLine)
	}
}

// tells sends a terminal what it obeys. Whatever else is in it has to be inert.
func (s *Screen) tells(text string) { _, _ = io.WriteString(cli.Beneath(s.cfg.Out), text) }

// Note records an event: a line below the table, or a plain line if none is shown.
func (s *Screen) Note(format string, args ...any) {
	line := s.stamped(format, args...)
	if !s.table {
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
