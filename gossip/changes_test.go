package gossip

import (
	"strings"
	"testing"
	"time"
)

// B10, B21: each change of the suggested leader is told once, when it comes, with the instant from which the leader is the
// one. The changes are counted, and what changes nothing is not told.
func TestEachChangeIsTold(t *testing.T) {
	t.Parallel()
	s := &story{t: t, sequences: map[string]uint64{}}
	s.with(nil)
	var told []Suggestion
	for _, line := range []struct {
		text string
		told string // whom the machine suggests since then; empty: nobody else
	}{
		{"peers a b", ""},
		{"a leads reign=3", "a"},
		{"a leads reign=3", ""},
		{"b stands reign=0", ""},
		{"b leads reign=4", "b"},
		{"a reign=3", ""},
		{"b reign=0", "nobody"},
		{"a leads reign=5", "a"},
		{"wait 9", "nobody"},
	} {
		before := s.now
		changes := s.changes(line.text)
		want := 1
		if line.told == "" {
			want = 0
		}
		if len(changes) != want {
			t.Fatalf("%q: %d changes are told, want %d: %v", line.text, len(changes), want, changes)
		}
		for _, c := range changes {
			who := nameOf(c.Leader)
			if who == "" {
				who = "nobody"
			}
			if who != line.told || c.Since < before || c.Since > s.now {
				t.Errorf("%q: the machine tells of %s since %v, want %s since %v to %v", line.text, who, c.Since, line.told, before, s.now)
			}
		}
		told = append(told, changes...)
		if st := s.m.Snapshot()[0]; st.Changes != len(told) {
			t.Errorf("%q: the machine counts %d changes, and has told of %d", line.text, st.Changes, len(told))
		} else if len(told) > 0 && st.Suggestion != told[len(told)-1] {
			t.Errorf("%q: the machine suggests %+v, and has told of %+v", line.text, st.Suggestion, told[len(told)-1])
		}
	}
	if tenure := told[len(told)-1].Since - told[len(told)-2].Since; tenure < 8*100*time.Millisecond || tenure > 9*100*time.Millisecond {
		t.Errorf("a leader that was silent had a tenure of %v, want eight rounds", tenure)
	}
}

// changes tells a line, and returns which changes it causes.
func (s *story) changes(line string) (all []Suggestion) {
	s.watch = func(a Action) {
		if a, is := a.(Suggested); is {
			all = append(all, a.Suggestion)
		}
	}
	s.tell(strings.Fields(line))
	return all
}
