//go:build unix

package demo

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgaccount"
	"github.com/conchhq/conch/cmd/conch/internal/lab/screen"
	"github.com/conchhq/conch/cmd/conch/internal/lab/stage"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/internal/fleet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shown returns a supervisor with a view of three dead nodes.
func shown(terminal bool, width int) (*supervisor, *bytes.Buffer) {
	var out bytes.Buffer
	cfg := Config{
		Nodes: 3, Duration: time.Minute, KillEvery: 5 * time.Second, Lease: 3 * time.Second,
		Screen: screen.Config{Out: &out, Terminal: terminal, Width: func() int { return width }},
	}
	s := &supervisor{cfg: cfg, screen: screen.New(cfg.Screen), cast: &stage.Cast[*member]{}}
	for _, name := range []string{"node-1", "node-2", "node-3"} {
		s.cast.All = append(s.cast.All, &member{Player: stage.Player{Name: name}, rows: 20, acts: 22})
	}
	return s, &out
}

func TestATerminalGetsATableInPlace(t *testing.T) {
	s, out := shown(true, 60)
	s.screen.Open()
	s.screen.Draw(func() string { return s.render(time.Now()) })
	first := out.String()
	for _, part := range []string{screen.HideCursor, "node-3", "126 acts, 0 kills"} {
		if !strings.Contains(first, part) {
			t.Errorf("the table does not show %q:\n%s", part, first)
		}
	}
	for line := range strings.Lines(first) {
		if len([]rune(line)) > 60+len(screen.HideCursor+screen.ClearBelow)+1 {
			t.Errorf("a line would wrap: %q", line)
		}
	}
	s.screen.Note("something happened")
	out.Reset()
	s.screen.Draw(func() string { return s.render(time.Now()) })
	if up := "\x1b[10A\r" + screen.ClearBelow; !strings.HasPrefix(out.String(), up) || strings.Count(first, "\n") != 10 {
		t.Errorf("the second table does not replace the first one of %d lines: %q", strings.Count(first, "\n"), out.String())
	}
	if !strings.Contains(out.String(), "something happened") {
		t.Error("the note is not shown")
	}
	out.Reset()
	s.screen.Close()
	s.screen.Close()
	if out.String() != screen.ShowCursor {
		t.Errorf("close printed %q, want the cursor shown once", out.String())
	}
}

// With transactions the table has a column for the sender and a line that sums up.
func TestTheTableShowsTransactions(t *testing.T) {
	s, out := shown(true, 0)
	s.traffic = &traffic{
		shop:      &receiver{},
		customers: &customers{requests: make([]evidence.Request, 12), again: 3},
		row:       pgops.ScopeStatus{Holder: "node-2", Epoch: 4, Held: true},
		progress:  pgaccount.Progress{Intents: 11, Done: 9, Open: 2, Nonce: 10},
		failover:  35 * time.Millisecond,
	}
	s.cast.All[1].Process = &fleet.Process{}
	if text := s.traffic.cell(s.cast.All[1]) + s.traffic.cell(s.cast.All[0]); text != "\tepoch 4\t-" {
		t.Errorf("the column for the sender shows %q, want epoch 4 for node-2 only", text)
	}
	s.cast.All[1].Process = nil
	s.screen.Open()
	s.screen.Draw(func() string { return s.render(time.Now()) })
	for _, part := range []string{"PAYER", "12 wanted, 3 times another node asked", "11 accepted, 9 final, 0 ends told, next nonce 10, failover 35.0 ms"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("the table does not show %q:\n%s", part, out)
		}
	}
}

// Epochs of two scopes are shown, so both are named first.
func TestTheScopesAreIntroduced(t *testing.T) {
	s, out := shown(false, 0)
	introduce(s.screen, false)
	if text := out.String(); !strings.Contains(text, `scope "demo"`) || strings.Contains(text, "payer") {
		t.Errorf("without transactions it says %q, want the scope demo alone", text)
	}
	introduce(s.screen, true)
	if text := out.String(); !strings.Contains(text, `scope "payer"`) || !strings.Contains(text, "its own epochs") {
		t.Errorf("with transactions it says %q, want the scope payer and its own epochs", text)
	}
}

func TestWithoutATerminalThereAreOnlyLines(t *testing.T) {
	s, out := shown(false, 0)
	s.screen.Open()
	s.screen.Note("something happened")
	s.screen.Draw(func() string { return s.render(time.Now()) })
	s.screen.Close()
	if text := out.String(); strings.Contains(text, "\x1b") || strings.Count(text, "\n") != 1 || !strings.Contains(text, "something happened") {
		t.Errorf("printed %q, want one plain line", text)
	}
}
