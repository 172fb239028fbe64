package member

import (
	"errors"
	"strings"
	"testing"

	"github.com/conchhq/conch/txlog"
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
	before := s.m.Status()
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
	s.step(Heard{Fact: txlog.Stored{Records: all[:1]}})
	if got := s.m.Status(); got.Position != before.Position || got.Stored != before.Stored+1 {
		t.Errorf("after looking at more than was stored: %+v", got)
	}
}

// copyOfFirst returns the entry that such a story begins with.
func (s *story) copyOfFirst(t *testing.T) txlog.Record {
	fresh := newStory(t)
	return fresh.make(txlog.Entry{Kind: txlog.Opening, Term: 1}, 1, "")
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
		"a limit below 0": func(c *Config) { c.MostInFlight = -1 }, "a duration below 0": func(c *Config) { c.Round = -1 },
	} {
		c := good
		if change(&c); c.Validate() == nil {
			t.Errorf("%s is no fault", name)
		}
	}
}
