package screen

import (
	"bytes"
	"strings"
	"testing"
)

func TestATerminalHasAStatusLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := New(Config{Out: &out, Terminal: true})
	s.Status("%s", strings.Repeat("long ", 50))
	s.Note("done")
	if lines := strings.Split(out.String(), ClearLine); len(lines) != 2 || len([]rune(lines[0])) != shownText || !strings.HasSuffix(lines[1], "done\n") {
		t.Errorf("printed %q, want one shortened status line and the note", out.String())
	}
	out.Reset()
	s = New(Config{Out: &out})
	s.Status("not shown")
	s.Note("done")
	s.Wipe()
	if text := out.String(); strings.Contains(text, "\x1b") || strings.Contains(text, "shown") || !strings.HasSuffix(text, "done\n") {
		t.Errorf("printed %q, want the note alone", text)
	}
}

// What others have written is inert in a status too, since a status goes to the terminal itself.
func TestAStatusIsInert(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := New(Config{Out: &out, Terminal: true})
	s.Status("a \x1b[2J b")
	if strings.Contains(out.String(), "\x1b") {
		t.Errorf("printed %q", out.String())
	}
}
