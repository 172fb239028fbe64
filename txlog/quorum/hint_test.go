package quorum

import (
	"errors"
	"testing"

	"github.com/conchhq/conch/txlog/quorum/internal/core"
)

// Whom gossip suggests is told when that changes alone: a core that is made anew is told it again, unless a newer word waits (B15).
func TestASuggestionOutlivesACore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, waits, want string }{
		"nobody":     {"", "", ""},
		"n1":         {"n1", "", "n1"},
		"newer":      {"n1", "n2", "n2"},
		"withdrawn":  {"n1", "-", ""},
		"only newer": {"", "n2", "n2"},
	} {
		h, _ := still(t)
		l := &loop{Host: h}
		if c.before != "" {
			h.core.Step(0, core.Suggested{Name: c.before})
		}
		switch c.waits {
		case "":
		case "-":
			h.Suggest("")
		default:
			h.Suggest(c.waits)
		}
		if err := l.restart(errors.New("a test")); err != nil {
			t.Fatal(err)
		}
		got, count := "", 0
		for _, in := range l.Take() {
			if s, is := in.(core.Suggested); is {
				got, count = s.Name, count+1
			}
		}
		if got != c.want || count > 1 {
			t.Errorf("%s: the new core is told %q, %d times, want %q", name, got, count, c.want)
		}
	}
}
