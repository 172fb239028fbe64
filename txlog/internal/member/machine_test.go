package member

import (
	"errors"
	"strings"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
)

// The authority may have several records looked at before it tells that the first ones are stored, and what was looked at may
// come to nothing. A gap, and what is committed otherwise, are refused.
func TestLookAhead(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.tell(strings.Fields("sent 1 opening"))
	s.tell(strings.Fields("commit"))
	var all []txlog.Record
	for _, id := range []string{"g1", "g2", "g3"} {
		all = append(all, s.make(txlog.Entry{Kind: txlog.Executed, Term: 1, GoalID: id, Goal: []byte("add x 1")}, uint64(len(s.disk)+1), ""))
	}
	before, stored := s.m.Status(), s.m.lastStored()
	for _, r := range all[:2] {
		if err := s.m.Look([]txlog.Record{r}); err != nil {
			t.Errorf("entry %d: %v", r.Index, err)
		}
	}
	other := s.make(txlog.Entry{Kind: txlog.Opening, Term: 2}, 2, "")
	first := s.make(txlog.Entry{Kind: txlog.Opening, Term: 2}, 1, "")
	for name, c := range map[string]struct {
		records []txlog.Record
		want    error
	}{
		"a gap": {all[2:], txlog.ErrChain}, "another first entry": {[]txlog.Record{first}, txlog.ErrChain},
		"what is committed, and more": {append([]txlog.Record{s.copyOfFirst(t)}, all[0]), nil}, "another leader's": {[]txlog.Record{other}, nil}, "nothing": {nil, nil},
	} {
		fresh := newStory(t)
		fresh.tell(strings.Fields("sent 1 opening"))
		fresh.tell(strings.Fields("commit"))
		if err := fresh.m.Look(c.records); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.step(Heard{Fact: authority.Stored{Records: all[:1]}})
	if got := s.m.Status(); got.Position != before.Position || s.m.lastStored() != stored+1 {
		t.Errorf("after looking at more than was stored: %+v", got)
	}
}

// copyOfFirst returns the entry that such a story begins with.
func (s *story) copyOfFirst(t *testing.T) txlog.Record {
	fresh := newStory(t)
	return fresh.make(txlog.Entry{Kind: txlog.Opening, Term: 1}, 1, "")
}

// A leader whose own memory is wrong does not commit that a goal has failed: it executes it on a copy made anew, or gives its term up,
// and the next leader does. A goal by which the state machine contradicts itself there too has failed: no leader could do it (V3).
func TestAWrongMemoryFailsNoGoal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(s *story)
		goal  string
		want  string
	}{
		"a value that goals read":       {misread, "add x 1", "appends 4 (term 1) goal g2: add x 1 ⇒ 2"},
		"a branch that is spoiled":      {spoilAhead, "add x 1", "appends 4 (term 1) goal g2: add x 1 ⇒ 2"},
		"no memory, but the machine":    {func(*story) {}, "lie", "appends 4 (term 1) goal g2: lie ⇒ failed"},
		"the copy that others are made": {func(s *story) { misread(s); s.states[0].flip("x") }, "add x 1", "gives term 1 up"},
		"both":                          {func(s *story) { spoilAhead(s); s.states[0].flip("x") }, "add x 1", "gives term 1 up"},
	} {
		s := newStory(t)
		for _, line := range []string{"leads 1", "stored", "commit", "goal ann g1 add x 1", "stored", "commit 2"} {
			s.tell(strings.Fields(line))
		}
		s.tell(strings.Fields("goal bob g0 add y 1")) // in flight
		c.spoil(s)
		done := s.tell(strings.Fields("goal cid g2 " + c.goal))
		if len(done) == 0 || !strings.HasPrefix(done[0], c.want) {
			t.Errorf("%s: %q, want %q", name, done, c.want)
		}
		if waiting := len(s.m.goals.waiting); waiting+len(s.m.goals.flight) != 2 {
			t.Errorf("%s: %d goals wait, and %d are in flight", name, waiting, len(s.m.goals.flight))
		}
	}
}

// misread has goals read what is not there, of the states that there are now.
func misread(s *story) {
	for _, n := range s.states {
		n.wrong = 7
	}
}

// spoilAhead has the branch find that a record comes out otherwise.
func spoilAhead(s *story) {
	at := s.m.ahead.copied.Position()
	record, err := txlog.Seal(txlog.Entry{Log: at.Log, Index: at.Index + 1, Term: at.Term, Prev: at.Hash, Kind: txlog.Opening, Leader: "b"})
	if err == nil {
		err = s.m.ahead.copied.Apply(record)
	}
	if !errors.Is(err, txlog.ErrSpoiled) {
		s.t.Fatal(err)
	}
}

// Every fault of a configuration is listed.
func TestFaults(t *testing.T) {
	t.Parallel()
	good := Config{Self: "b", Base: txlog.NewCopy(genesis(), newNotes), New: newNotes}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(c *Config){
		"no name": func(c *Config) { c.Self = "" }, "no copy": func(c *Config) { c.Base = nil }, "no maker of states": func(c *Config) { c.New = nil },
		"a limit below 0": func(c *Config) { c.MostWaiting = -1 },
	} {
		c := good
		if change(&c); c.Validate() == nil {
			t.Errorf("%s is no fault", name)
		}
	}
}

// A read that is confirmed, and given up before this member has come so far, leaves nothing behind: a member that stands may be asked
// for ever.
func TestAReadThatExpiresLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	for i, line := range []string{"read ann x", "confirmed 1 9", "wait 6000", "read bob x", "confirmed 2 9", "gone bob"} {
		s.tell(strings.Fields(line))
		if line == "wait 6000" || line == "gone bob" {
			if r := s.m.reads; len(r.due)+len(r.asked)+len(r.next)+r.count != 0 {
				t.Errorf("after %d lines: %+v", i+1, r)
			}
		} else if strings.HasPrefix(line, "confirmed") && len(s.m.reads.due) != 1 {
			t.Errorf("after %d lines %d confirmations wait", i+1, len(s.m.reads.due))
		}
	}
}
