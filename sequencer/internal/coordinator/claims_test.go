package coordinator

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// S2: of an answer to a handover that is proven which can count, and no more of it comes in: a proof costs as much as all else that is done
// with it, and what counts without one locks states on the word of one member.
func TestWhatOfAHandoverCounts(t *testing.T) {
	t.Parallel()
	entry := func(s *stage, text string) wire.Inherited {
		s.speaker = "B"
		e := s.inherited(text)
		e.Attempt.Owner = "B"
		return e
	}
	for name, c := range map[string]struct {
		before []string
		rng    int // for which it coordinates; 0: one that begins with it
		from   ledger.Account
		spoil  func(*wire.Inherited, *wire.RequestID)
		want   int
	}{
		"as it should be":              {want: 1},
		"of another than was asked":    {from: "C", spoil: func(e *wire.Inherited, _ *wire.RequestID) { e.Grant.Coordinator = "C" }},
		"to an earlier start":          {spoil: func(_ *wire.Inherited, id *wire.RequestID) { id.Incarnation[0]++ }},
		"to another question":          {spoil: func(_ *wire.Inherited, id *wire.RequestID) { id.Number = 99 }},
		"a second time":                {before: []string{"handed B B/7=g:s1:1:60"}},
		"known from another":           {before: []string{"handed C B/7=g:s1:1:60"}},
		"its own, dispatched":          {rng: 5, before: []string{"attempts B 7=y:s2:1", "verdicts A y", "verdicts C y", "grants B 7=y:d1:60", "stored"}},
		"its own, not granted":         {rng: 5, before: []string{"attempts B 7=y:s2:1", "verdicts A y", "verdicts C y"}, want: 1},
		"its own, the same":            {before: []string{"attempts B 7=g:s1:1"}},
		"it owns another attempt":      {before: []string{"attempts B 7=y:s1:1"}, want: 1},
		"of nobody":                    {spoil: func(e *wire.Inherited, _ *wire.RequestID) { e.Attempt.Owner = "X" }},
		"its grant is over":            {spoil: func(e *wire.Inherited, _ *wire.RequestID) { e.Grant.ValidUntil = 40 }},
		"its grant lasts for a block":  {spoil: func(e *wire.Inherited, _ *wire.RequestID) { e.Grant.ValidUntil = 41 }, want: 1},
		"the ledger has decided it":    {before: []string{"heard B/7=g:s1:1", "block 43 g"}},
		"granted to another":           {spoil: func(e *wire.Inherited, _ *wire.RequestID) { e.Grant.Coordinator = "C" }},
		"endorsed by fewer":            {spoil: func(e *wire.Inherited, _ *wire.RequestID) { e.Endorsements = e.Endorsements[:1] }},
		"the question was asked again": {before: []string{"block 83"}, spoil: func(e *wire.Inherited, _ *wire.RequestID) { e.Grant.ValidUntil = 99 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.tell("head 42")
			s.tell(fmt.Sprintf("delegate B d1 %d 7", cmp.Or(c.rng, 4)))
			id := s.asked[keyOf(wire.KindAskHandover, "B")]
			for _, line := range c.before {
				s.tell(line)
			}
			e := entry(s, "7=g:s1:1:60")
			if c.spoil != nil {
				c.spoil(&e, &id)
			}
			from := ledger.Account("B")
			if c.from != "" {
				from = c.from
			}
			if got := len(s.m.Claims(from, id, wire.Handover{Entries: []wire.Inherited{e}})); got != c.want {
				t.Errorf("%d are to be proven, want %d", got, c.want)
			}
		})
	}
}

// What was proven under one name is not taken under another: a grant names what it is for.
func TestAHandoverOfSomethingElse(t *testing.T) {
	t.Parallel()
	for granted, want := range map[string]string{"g": "D: assemble 1; locked s1; created g.0", "h": "D: assemble 1"} {
		s := newStage(t)
		s.tell("head 42")
		s.tell("delegate C d1 4 1")
		s.speaker = "B"
		e := s.inherited("7=g:s1:1:60")
		e.Attempt.Owner, e.Grant.Assembled = "B", named(granted)
		s.answers("B", wire.KindAskHandover, wire.Handover{Entries: []wire.Inherited{e}})
		if got := s.tell("delegate D d2 4 1"); len(got) != 2 || got[1] != want {
			t.Errorf("granted as %s: it does %q", granted, got)
		}
	}
}

// A member that is not in the committee is told nothing of what is dispatched: it can do nothing with that.
func TestAHandoverIsForTheCommittee(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	committee, err := ranking.NewCommittee("k", []string{"A", "B", "C"}, 10, alphabet{})
	if err != nil {
		t.Fatal(err)
	}
	s.set.Committee = &committee
	if got := s.tell("handover D 0"); len(got) != 1 || got[0] != "D: rejected, not a member" {
		t.Errorf("it does %q", got)
	}
	if got := s.tell("handover B 0"); len(got) != 1 || got[0] != "B: has dispatched" {
		t.Errorf("asked by one of the committee, it does %q", got)
	}
}

// The ledger has cancelled an intent that has no attempt here: that ends it, and is no attempt that has landed.
func TestACancelledIntentIsOver(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.tell("delegate B d1 0 1 2")
	in := ledger.Intent{Owner: "B", Sequence: sequence("1")}
	s.say(s.m.Step(s.now, ledger.Block{Number: 3, Facts: []ledger.Fact{{Intent: in}}}))
	if got := s.tell("list B"); len(got) != 1 || got[0] != "B: list 2" || len(s.m.Faults()) > 0 {
		t.Errorf("it has %q, and %q are impossible", got, s.m.Faults())
	}
}

// S1: no grant is asked for what cannot land: a state may go between two blocks, when the ledger is asked about it.
func TestWhatIsGoneIsNotGranted(t *testing.T) {
	t.Parallel()
	for _, gone := range []bool{false, true} {
		s := newStage(t)
		for _, line := range []string{"delegate B d1 0 1", "handed B", "handed C", "handed D", "attempts B 1=x:s1:1", "verdicts A x"} {
			s.tell(line)
		}
		s.book.unspent[ledger.StateID(named("s1"))] = !gone
		want := map[bool][]string{false: {"B: grant 1=x"}, true: {"B: assemble 1; gone s1 x.0"}}[gone]
		if got := append(s.tell("verdicts C x"), s.tell("wait 50ms")...); !slices.Equal(got, want) {
			t.Errorf("gone %v: it does %q, want %q", gone, got, want)
		}
	}
}

// The ledger takes an entry with as many endorsements as are needed, and no others: fewer are skipped, and each one more is paid for.
func TestAnEntryHasTheEndorsementsThatAreNeeded(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, line := range []string{"delegate B d1 0 1", "handed B", "handed C", "handed D", "attempts B 1=x:s1:1", "verdicts A x", "verdicts C x", "grants B 1=x:d1:20"} {
		s.tell(line)
	}
	for _, a := range s.m.Step(s.now, Stored{s.store}) {
		if submit, is := a.(Submit); is {
			if n := len(submit.Entries[0].Endorsements); n != s.set.Contract.Needed {
				t.Errorf("it has %d endorsements, and %d are needed", n, s.set.Contract.Needed)
			}
			return
		}
	}
	t.Error("nothing is submitted")
}
