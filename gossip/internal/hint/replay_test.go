package hint

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/conchhq/conch/gossip/internal/wire"
)

// A member has what everybody has said, and may bring it again, with an age of its own choice.

// site is a crowd of electors a, b and z, and z is the machine. What b says it says in each round.
type site struct {
	m   *Machine
	now time.Duration
	b   uint64 // the last sequence of b
}

func elected() *site {
	m := New(Config{
		Self: named("z"), Host: "host-z", Incarnation: 1, Scheme: honest{named("z")},
		Namespaces: []Namespace{{Name: "site", Electors: []wire.Subject{named("a"), named("b"), named("z")}}},
	})
	s := &site{m: m}
	m.Step(0, Arcs{Peers: []Peer{{Name: "a", Subject: named("a")}, {Name: "b", Subject: named("b")}, {Name: "liar", Subject: named("liar")}}})
	m.Step(0, Seniority{Namespace: "site", Value: 9})
	return s
}

// rounds lets time pass, and returns what the machine did.
func (s *site) rounds(n int) (out []Action) {
	for range n {
		s.b++
		out = append(out, s.m.brings(s.now, "b", invented("b", s.b, "", 0, wire.Heartbeat{Stands: true, Host: "host-b"}.Body()))...)
		for range 4 {
			s.now += s.m.cfg.Round / 4
			out = append(out, s.m.Step(s.now, Tick{})...)
		}
	}
	return out
}

func claim(sequence uint64) wire.Said { return claimIn(3, sequence) }

func claimIn(reign, sequence uint64) wire.Said {
	return invented("a", sequence, "", 0, wire.Heartbeat{Stands: true, Leads: true, Wide: true, Reign: reign, Host: "host-a"}.Body())
}

// What a dead elector once said deposes nobody, however long it has been dead (old-is-old).
func TestADeadLeaderDoesNotReturn(t *testing.T) {
	t.Parallel()
	s := elected()
	for i := range uint64(6) {
		s.m.brings(s.now, "a", claim(i+1))
		s.rounds(1)
	}
	if got := s.m.Suggestion("site").Leader; got != named("a") {
		t.Fatalf("the first leader is %q", nameOf(got))
	}
	s.rounds(8 * 8 * 4)
	if got := s.m.Suggestion("site"); !got.Self || got.Reign != 4 {
		t.Fatalf("the leader is %+v", got)
	}
	out := s.m.brings(s.now, "liar", claim(2))
	out = append(out, s.rounds(5)...)
	out = append(out, s.m.brings(s.now, "liar", claim(3))...)
	out = append(out, s.rounds(5)...)
	for _, a := range out {
		switch a := a.(type) {
		case SteppedDown, Suggested:
			t.Errorf("%+v", a)
		case Send:
			if len(a.Parcel.Said) > 0 && a.Parcel.Said[0].Subject == named("a") {
				t.Errorf("the word of the dead one is passed on: %+v", a)
			}
		}
	}
}

// An elector that starts again, with an incarnation that is too low, hears so from those that remember its last life, and
// raises it.
func TestAnElectorWhoseClockWentBack(t *testing.T) {
	t.Parallel()
	s := elected()
	last := claim(7)
	last.Incarnation = 5
	last.Signature = honest{last.Subject}.Sign(last.Signed())
	s.m.brings(s.now, "a", last)
	s.rounds(8 * 8 * 4)
	moved := invented("a", 1, "", 0, wire.Heartbeat{Stands: true, Host: "another host"}.Body())
	out := s.m.brings(s.now, "a", moved)
	if len(out) != 1 { // and its last life, which is over, is no twin
		t.Fatalf("%+v", out)
	}
	told, is := out[0].(Send)
	if !is || len(told.To) != 1 || told.To[0] != "a" || len(told.Parcel.Said) != 1 || told.Parcel.Said[0].Incarnation != 5 {
		t.Fatalf("it is told %+v", out[0])
	}
	a := New(Config{
		Self: named("a"), Incarnation: 1, Scheme: honest{named("a")},
		Namespaces: []Namespace{{Name: "site", Electors: []wire.Subject{named("a"), named("b"), named("z")}}},
	})
	a.Step(0, Arcs{Peers: []Peer{{Name: "z", Subject: named("z")}}})
	a.Step(time.Millisecond, Received{From: "z", Parcel: told.Parcel})
	if a.incarnation <= 5 {
		t.Errorf("its incarnation is %d", a.incarnation)
	}
	if out := s.m.brings(s.now, "liar", claim(2)); len(out) > 0 {
		t.Errorf("one that brings what is not its own is told %+v", out)
	}
}

// What the last life of a node said, and what this node has heard of it, is no sign of a twin, however late it comes.
func TestALastLifeIsNoTwin(t *testing.T) {
	t.Parallel()
	m := crowded(2)
	late := 9 * 8 * 10 * m.cfg.Round // 9 validities
	beat := wire.Heartbeat{Stands: true, Host: "host-a"}
	said := func(subject string, incarnation, sequence uint64, host string) wire.Said {
		beat.Host = host
		s := invented(subject, sequence, "", 0, beat.Body())
		s.Incarnation = incarnation
		s.Signature = honest{s.Subject}.Sign(s.Signed())
		return s
	}
	twins := func(out []Action) (n int) {
		for _, a := range out {
			if _, is := a.(Twin); is {
				n++
			}
		}
		return n
	}
	m.brings(0, "p0", said("a", 1, 5, "host-a"))
	m.brings(0, "p0", said("a", 2, 1, "host-a"))
	for now := time.Duration(0); now < late; now += m.cfg.Round {
		m.Step(now, Tick{})
		if now%(10*m.cfg.Round) == 0 {
			m.brings(now, "p0", said("a", 2, 2+uint64(now/m.cfg.Round), "host-a"))
		}
	}
	if n := twins(m.brings(late, "p1", said("a", 1, 4, "host-a"))); n > 0 {
		t.Error("what was said in the last life is the word of a twin")
	}
	if n := twins(m.brings(late, "p1", said("z", 0, 7, ""))); n > 0 {
		t.Error("what this node said in its last life is the word of a twin")
	}
	if n := twins(m.brings(late, "p1", said("z", 0, 7, "host-z"))); n != 1 {
		t.Errorf("another host has this node's key: %d twins", n)
	}
	if n := twins(m.brings(late, "p1", said("a", 1, 6, "host-a"))); n != 1 {
		t.Errorf("a life goes on after its successor began, on the same host: %d twins", n)
	}
	again := late + keeps*m.cfg.Round
	m.brings(again, "p0", said("a", 2, 1<<20, "host-a"))
	if n := twins(m.brings(again, "p1", said("a", 1, 6, "host-a"))); n > 0 {
		t.Error("the same word shows the twin again")
	}
}

// Twins are told of again as long as both run, once in as many rounds as news is kept.
func TestTwinsThatGoOnAreToldAgain(t *testing.T) {
	t.Parallel()
	m := crowded(2)
	m.brings(0, "p0", invented("a", 1, "", 0, wire.Heartbeat{Stands: true, Host: "one"}.Body()))
	told := 0
	for i := range uint64(20 * 60) {
		now := time.Duration(i) * 10 * m.cfg.Round
		m.Step(now, Tick{})
		for _, host := range []string{"one", "another"} {
			for _, a := range m.brings(now, "p0", invented("a", i+2, "", 0, wire.Heartbeat{Stands: true, Host: host}.Body())) {
				if _, is := a.(Twin); is {
					told++
				}
			}
		}
	}
	if told != 20 {
		t.Errorf("in 20 times the rounds for which news is kept it was told %d times, want 20", told)
	}
}

// An elector that has started after another one's death hears old words of it from the crowd alone: it leads on, takes a reign
// that the crowd believes before the old one, and does so once (among-electors).
func TestWhatTheCrowdBringsDeposesNobody(t *testing.T) {
	t.Parallel()
	s := elected()
	s.rounds(20)
	if got := s.m.Suggestion("site"); !got.Self || got.Reign != 1 {
		t.Fatalf("the leader is %+v", got)
	}
	var out []Action
	for range 2 { // one may be late, and its subject has heard this node meanwhile
		out = append(out, s.m.brings(s.now, "liar", claim(1))...)
	}
	out = append(out, s.rounds(5)...)
	out = append(out, s.m.brings(s.now, "liar", invented("a", 2, "", 0, wire.Heartbeat{Stands: true, Reign: 3}.Body()))...)
	if got := s.m.Suggestion("site"); got.Reign != 1 {
		t.Errorf("after one claim the leader is %+v", got)
	}
	for i := range uint64(20) {
		out = append(out, s.m.brings(s.now, "liar", claim(i+1))...)
		out = append(out, s.rounds(5)...)
	}
	if got := s.m.Suggestion("site"); !got.Self || got.Reign != 4 {
		t.Errorf("after old words of a dead leader the leader is %+v, want itself in reign 4", got)
	}
	out = append(out, s.m.brings(s.now, "liar", claimIn(9, 30))...)
	if got := s.m.Suggestion("site"); got.Reign != 4 {
		t.Errorf("after one claim in a higher reign the leader is %+v", got)
	}
	for _, a := range out {
		switch a := a.(type) {
		case SteppedDown, Refused:
			t.Errorf("%+v", a)
		case Suggested:
			if a.Reign != 4 {
				t.Errorf("%+v", a)
			}
		}
	}
}

// A claim that somebody has forged is refused, and has no leader take another reign.
func TestAForgedClaimRaisesNothing(t *testing.T) {
	t.Parallel()
	s := elected()
	s.rounds(20)
	for i := range uint64(20) {
		forged := claim(i + 1)
		forged.Signature = []byte("forged")
		out := s.m.brings(s.now, "liar", forged)
		if r, is := out[0].(Refused); !is || !errors.Is(r.Why, ErrSignature) {
			t.Fatalf("%+v", out)
		}
		s.rounds(2)
	}
	if got := s.m.Suggestion("site"); !got.Self || got.Reign != 1 {
		t.Errorf("the leader is %+v", got)
	}
}

// An elector whose words the crowd alone brings counts for no majority (elector-majority, among-electors).
func TestTheCrowdMakesNoMajority(t *testing.T) {
	t.Parallel()
	m := New(Config{
		Self: named("z"), Incarnation: 1, Scheme: honest{named("z")},
		Namespaces: []Namespace{{Name: "site", Electors: []wire.Subject{named("a"), named("b"), named("z")}}},
	})
	m.Step(0, Arcs{Peers: []Peer{{Name: "liar", Subject: named("liar")}}})
	for i := range uint64(400) {
		now := time.Duration(i) * m.cfg.Round / 4
		beat := wire.Heartbeat{Stands: true, Leads: i%8 > 3, Reign: 3, Host: "host-a"}
		m.brings(now, "liar", invented("a", i+1, "", 0, beat.Body()))
		m.Step(now, Tick{})
	}
	if got := m.Suggestion("site"); got != (Suggestion{}) {
		t.Errorf("one of three electors leads, in %+v", got)
	}
}

// An elector passes a leader's words on to the others, so that one to which the leader has no connection hears of it.
func TestElectorsBringEachOthersWords(t *testing.T) {
	t.Parallel()
	s := elected()
	s.rounds(1)
	s.m.brings(s.now, "b", claim(1))
	if got := s.m.Suggestion("site").Leader; got != named("a") {
		t.Errorf("the leader is %q", nameOf(got))
	}
}

// Of an elector that it has met an elector hears by way of the crowd too: two that have no connection to each other, and no elector
// between them that hears, would both lead.
func TestWhomAnElectorHasMet(t *testing.T) {
	t.Parallel()
	s := elected()
	s.m.brings(s.now, "a", claimIn(1, 1))
	s.rounds(20)
	if got := s.m.Suggestion("site"); !got.Self || got.Reign != 2 {
		t.Fatalf("the leader is %+v", got)
	}
	s.m.brings(s.now, "liar", claimIn(3, 2))
	if got := s.m.Suggestion("site"); got.Leader != named("a") || got.Reign != 3 {
		t.Errorf("the leader is %+v", got)
	}
}

// A number that only rises, and is believed from one peer, takes nothing from those that come after it (docs/gossip.md has all of them).
func TestNumbersThatLeap(t *testing.T) {
	t.Parallel()
	const last = math.MaxUint64
	beat := func(reign, top uint64) []byte {
		return wire.Heartbeat{Stands: true, Leads: true, Reign: reign, Top: top, Host: "host"}.Body()
	}
	t.Run("a reign", func(t *testing.T) {
		t.Parallel()
		m := crowded(2)
		m.brings(0, "p0", invented("a", 1, "", 0, beat(7, 7)))
		for i, body := range [][]byte{beat(7+mostLeap+1, 7), beat(7, 7+mostLeap+1), beat(wire.MostReign, 0), beat(last, 0)} {
			if m.brings(1, "p0", invented("b", uint64(i+1), "", 0, body)); m.Refusals()[wire.ErrReign] != i+1 {
				t.Errorf("heartbeat %d: %v were refused", i, m.Refusals())
			}
		}
		if s := m.Snapshot()[0]; s.Top != 7 || s.Leader != named("a") {
			t.Errorf("the highest reign is %d, and %s leads", s.Top, nameOf(s.Leader))
		}
	})
	t.Run("a mark", func(t *testing.T) {
		t.Parallel()
		m := crowded(2)
		one, two := invented("a", 1, "flag", 0, nil), invented("a", 2, "flag", 0, nil)
		m.brings(0, "p0", one)
		key := one.Key()
		marks := []wire.Mark{{Name: key.Name(), Incarnation: last, Sequence: last}, {Name: wire.Name{7}, Incarnation: last, Sequence: last}}
		m.Step(1, Received{From: "p1", Parcel: wire.Parcel{Opening: true, Marks: marks}})
		if n := heardIn(m.brings(2, "p0", two)); n != 1 {
			t.Errorf("what its subject says next is told %d times", n)
		}
	})
	t.Run("the sequence of a leader that votes for itself", func(t *testing.T) {
		t.Parallel()
		m := New(Config{Self: named("z"), Incarnation: 1, Scheme: honest{named("z")}, Namespaces: []Namespace{{Name: "site", Policy: Paper}}})
		m.Step(0, Arcs{Peers: []Peer{{Name: "liar", Subject: named("liar")}, {Name: "a", Subject: named("a")}}})
		m.brings(0, "liar", invented("liar", 1, "", 0, wire.Vote{Leader: named("a"), Sequence: last}.Body()))
		valid := m.cfg.Namespaces[0].Paper.validFor()
		for now, n := time.Duration(0), uint64(1); now < 3*valid; now, n = now+m.cfg.Round, n+1 {
			m.brings(now, "a", invented("a", n, "", 0, wire.Vote{Leader: named("a")}.Body()))
			m.Step(now, Tick{})
			if now > valid+time.Second && !m.order[0].paper.heardSince(named("a"), now-time.Second) {
				t.Fatalf("after %v what the leader itself says is not heard any more", now)
			}
		}
	})
	t.Run("this node's own sequence", func(t *testing.T) {
		t.Parallel()
		m := crowded(2)
		stolen := invented("z", last, "", 0, beat(1, 1)) // its key is stolen
		m.brings(1, "p0", stolen)
		if m.incarnation <= stolen.Incarnation || m.sequence == last {
			t.Errorf("it goes on as word %d of incarnation %d", m.sequence, m.incarnation)
		}
	})
}
