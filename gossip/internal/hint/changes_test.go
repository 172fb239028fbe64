package hint

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/gossip/internal/wire"
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

// A leader that is withdrawn stands back for two validities, and each further time for twice as long, 64 validities at most. One
// that has led well for longer than that begins anew.
func TestHowLongItStandsBack(t *testing.T) {
	t.Parallel()
	s := elected()
	s.rounds(20)
	validity := s.m.order[0].valid
	leads := func() bool { return s.m.Suggestion("site").Self }
	backs := func() time.Duration {
		for range 2000 {
			if leads() {
				break
			}
			s.rounds(1)
		}
		for _, a := range s.m.Step(s.now, Withdraw{Namespace: "site"}) {
			if a, is := a.(SteppedDown); is {
				return a.For / validity
			}
		}
		return 0
	}
	for _, want := range []time.Duration{2, 4, 8, 16, 32, 64, 64} {
		if got := backs(); got != want {
			t.Fatalf("it stands back for %d validities, want %d", got, want)
		}
	}
	for range 2000 {
		if s.rounds(1); leads() {
			break
		}
	}
	s.rounds(65 * 8)
	if got := backs(); got != 2 {
		t.Errorf("after a long time as leader it stands back for %d validities, want 2", got)
	}
}

// A withdrawal that is said again while it stands lasts from then, and no longer than the first time. One that is said when the last is over
// lasts for twice as long, unless that was taken back. What the node does of its own accord has nothing to do with it.
func TestAWithdrawalIsSaidAgain(t *testing.T) {
	t.Parallel()
	s := elected()
	s.rounds(20)
	seat := s.m.order[0]
	for range 3 {
		seat.state = Following
		s.m.stepDown(seat, ErrUnheard)
	}
	seat.until = s.now
	says := func(when string, want time.Duration) {
		t.Helper()
		s.m.Step(s.now, Withdraw{Namespace: "site"})
		if got := (s.m.Snapshot()[0].Until - s.now) / seat.valid; got != want {
			t.Errorf("%s: it stands back for %d validities, want %d", when, got, want)
		}
	}
	for range 6 {
		says("again and again", 2)
		s.rounds(5)
	}
	s.rounds(20)
	says("after the end", 4)
	s.m.Step(s.now, Return{Namespace: "site"})
	for range 6 {
		says("a log that does not run for twelve seconds", 2)
		s.rounds(20)
		says("and the next look at it", 4)
		s.rounds(20)
		says("and one more", 4)
		s.m.Step(s.now, Return{Namespace: "site"})
	}
	says("a person, when that is over", 2)
	s.rounds(30)
	s.m.Step(s.now, Return{Namespace: "site"})
	says("when the last one is over, and its cause too", 2)
	seat.state, seat.until = Following, 0
	if s.m.stepDown(seat, ErrUnheard); seat.until-s.now != 16*seat.valid {
		t.Errorf("then it stands back of its own accord for %v, want %v", seat.until-s.now, 16*seat.valid)
	}
}

// A withdrawal that is taken back has not been: the node stands as soon as it has listened, and stands back for no longer the next time. One
// that stands back for another reason goes on to.
func TestAWithdrawalIsTakenBack(t *testing.T) {
	t.Parallel()
	s := elected()
	s.rounds(20)
	seat := s.m.order[0]
	for range 5 { // its cause lasts
		s.m.Step(s.now, Withdraw{Namespace: "site"})
	}
	for range 2 { // the second time while it listens
		if s.m.Step(s.now, Return{Namespace: "site"}); seat.state != Listening {
			t.Fatalf("it is %v", seat.state)
		}
		s.m.Step(s.now, Withdraw{Namespace: "site"})
	}
	s.m.Step(s.now, Return{Namespace: "site"})
	for range 40 {
		if s.rounds(1); s.m.Suggestion("site").Self {
			break
		}
	}
	if !s.m.Suggestion("site").Self {
		t.Fatal("it does not lead again before it would have stood back for long")
	}
	for _, a := range s.m.Step(s.now, Withdraw{Namespace: "site"}) {
		if a, is := a.(SteppedDown); is && a.For != 2*seat.valid {
			t.Errorf("then it stands back for %v, want %v", a.For, 2*seat.valid)
		}
	}
	s.m.stepDown(seat, ErrDeaf)
	if s.m.Step(s.now, Return{Namespace: "site"}); seat.state != Back {
		t.Errorf("it was deaf, and is %v", seat.state)
	}
}

// A node that stands back for a reason of its own is withdrawn beside that. The one does not end the other: it stands again when both are
// over.
func TestAWithdrawalBesideAnotherReason(t *testing.T) {
	t.Parallel()
	for _, why := range []error{ErrTwin, ErrDeaf} {
		for _, returns := range []bool{false, true} {
			s := elected()
			s.rounds(20)
			seat := s.m.order[0]
			for range 3 {
				seat.state = Following
				s.m.stepDown(seat, why)
			}
			end := s.now + 8*seat.valid
			s.m.Step(s.now, Withdraw{Namespace: "site"})
			if returns {
				s.m.Step(s.now, Return{Namespace: "site"})
			} else {
				end = s.m.Snapshot()[0].Until // its own reason is over by then, whatever comes first
			}
			if seat.state != Back || s.m.Snapshot()[0].Until < end {
				t.Fatalf("%v, and it returns: %v: it is %v until %v, want %v", why, returns, seat.state, s.m.Snapshot()[0].Until, end)
			}
			for s.now < end-s.m.cfg.Round {
				if s.rounds(1); seat.state != Back {
					t.Fatalf("%v, and it returns: %v: at %v it is %v", why, returns, s.now, seat.state)
				}
			}
			if s.rounds(2); seat.state != Listening {
				t.Errorf("%v, and it returns: %v: at %v it is %v", why, returns, s.now, seat.state)
			}
		}
	}
}

// What would end its standing back early does that too when it was withdrawn meanwhile, and not before its user has it return.
func TestAllStandBackAndOneIsWithdrawn(t *testing.T) {
	t.Parallel()
	s := elected()
	s.rounds(20)
	seat := s.m.order[0]
	for range 6 {
		seat.state = Following
		s.m.stepDown(seat, ErrDeaf)
	}
	s.m.Step(s.now, Withdraw{Namespace: "site"})
	resting := func(rounds int) {
		for range rounds {
			s.b++
			s.m.brings(s.now, "b", invented("b", s.b, "", 0, wire.Heartbeat{Host: "host-b"}.Body()))
			s.now += s.m.cfg.Round
			s.m.Step(s.now, Tick{})
		}
	}
	if resting(12); seat.state != Back {
		t.Fatalf("it is withdrawn, and %v", seat.state)
	}
	if s.m.Step(s.now, Return{Namespace: "site"}); seat.state != Listening {
		t.Errorf("nobody stands, and it is %v", seat.state)
	}
}

// A candidate that comes before this node and does not lead is waited for, but not for ever; and one that leads without a reign, since it was
// alone, leads on, though this node comes before it. Above the last reign nobody raises one.
func TestWhenANodeRaisesAReign(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hears string
		top   uint64
		leads bool
	}{
		"one that stands, and does not lead": {hears: "a seniority=9", leads: true},
		"one that leads without a reign":     {hears: "a leads"},
		"nobody that could":                  {hears: "a rests", leads: true},
		"the last reign is over":             {hears: "a rests", top: wire.MostReign},
	} {
		s := &story{t: t, sequences: map[string]uint64{}, now: 5 * time.Hour}
		led, last := false, 0
		s.watch = func(a Action) {
			switch a := a.(type) {
			case Suggested:
				led = led || a.Self
			case Refused:
				if errors.Is(a.Why, ErrLastReign) {
					last++
				}
			}
		}
		for _, line := range slices.Concat([]string{"with", "peers a", "seniority 5"}, slices.Repeat([]string{c.hears, "wait 1"}, 60)) {
			s.tell(strings.Fields(line))
			s.machine().order[0].top = max(s.machine().order[0].top, c.top)
		}
		if led != c.leads || (last == 1) != (c.top > 0) {
			t.Errorf("%s: it has led %v, and says %d times that there is no reign left", name, led, last)
		}
	}
}

// A node that may find others yet does not name itself before that time is over.
func TestANodeAloneWaits(t *testing.T) {
	t.Parallel()
	const alone = 10 * time.Second
	m := New(Config{Self: named("z"), Incarnation: 1, Alone: alone, Scheme: honest{named("z")}, Namespaces: []Namespace{{Name: "site"}}})
	for now := time.Duration(0); now < 2*alone; now += 50 * time.Millisecond {
		m.Step(now, Tick{})
		if leads := m.Suggestion("site").Self; leads != (now >= alone) && now > alone+time.Second || leads && now < alone {
			t.Fatalf("after %v it names itself: %v", now, leads)
		}
	}
}

// What is kept no more is known for a while, also when what is known is counted anew meanwhile.
func TestAnOldWordIsKnownForAWhile(t *testing.T) {
	t.Parallel()
	var k memory
	said := wire.Said{Statement: wire.Statement{Subject: named("a"), Incarnation: 1, Sequence: 1, Topic: "t"}}
	const while = time.Minute
	k.noteWord(wire.Name{1}, life{1, 1}, 0, while)
	k.noteWord(said.Key().Name(), life{1, 1}, while-1, while)
	k.noteWord(wire.Name{2}, life{1, 1}, while, while) // the others are the old ones now
	if !k.knowsWord(&said) {
		t.Error("it is not known a moment later")
	}
	k.noteWord(wire.Name{3}, life{1, 1}, 4*while, while)
	if k.knowsWord(&said) {
		t.Error("it is known for ever")
	}
}
