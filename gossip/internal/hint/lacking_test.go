package hint

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/gossip/internal/wire"
)

// An elector that hears no majority of them says so, and since when: until then nobody here may begin to lead, and an operator has to
// know which are away. A node that has just begun does not know yet, and one of the crowd cannot.
func TestAMajorityThatIsNotHeard(t *testing.T) {
	t.Parallel()
	const rounds = 100 * time.Millisecond
	for _, c := range []struct {
		name, story string
		since       time.Duration // before now; below 0: it hears a majority, or cannot know
		silent      string
	}{
		{"it has just begun", "with electors=z,a,b\npeers a b\nwait 4", -1, "a b"},
		{"it has never heard one", "with electors=z,a,b\npeers a b\nwait 20", 20 * rounds, "a b"},
		{"one of three is away", "with electors=z,a,b\npeers a b\nwait 20\na near", -1, "b"},
		{"it was heard", "with electors=z,a,b\npeers a b\nwait 10\na near\nwait 20", 20 * rounds, "a b"},
		{"of five, three are silent", "with electors=z,a,b,c,d\npeers a b c d\na near\nwait 3\nb near\nwait 10\nc near\nwait 1", 11 * rounds, "a b d"},
		{"of five, two are silent", "with electors=z,a,b,c,d\npeers a b c d\na near\nb near\nwait 4", -1, "c d"},
		{"the only elector", "with electors=z\npeers a b\nwait 20", -1, ""},
		{"of the crowd", "with electors=a,b,c\npeers a b\nwait 100", -1, ""},
		{"everybody may lead", "with\npeers a b\nwait 100", -1, ""},
		{"it stood still", "with electors=z,a,b\npeers a b\na near\nb near\nwait 3\nstill 100", -1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &story{t: t, sequences: map[string]uint64{}, now: 5 * time.Hour}
			for line := range strings.SplitSeq(c.story, "\n") {
				s.tell(strings.Fields(line))
			}
			s.m.Pass(s.now)
			st := s.m.Snapshot()[0]
			ago := time.Duration(-1)
			if st.Lacking >= 0 {
				ago = s.now - st.Lacking
			}
			var silent []string
			for _, e := range st.Silent {
				silent = append(silent, nameOf(e))
			}
			if ago != c.since || strings.Join(silent, " ") != c.silent {
				t.Errorf("it has heard no majority for %v, and not %v; want %v, %q", ago, silent, c.since, c.silent)
			}
		})
	}
}

// A node that names nobody says since when: since its start, since it told so, or since its leader's last word counts no more.
func TestSinceWhenNobodyLeads(t *testing.T) {
	t.Parallel()
	s := &story{t: t, sequences: map[string]uint64{}, now: 5 * time.Hour}
	unled := func(want time.Duration) {
		t.Helper()
		s.m.Pass(s.now)
		if st := s.m.Snapshot()[0]; st.Leader != (wire.Subject{}) || s.now-st.Unled != want {
			t.Errorf("nobody has led for %v, want %v (it names %v)", s.now-st.Unled, want, st.Leader)
		}
	}
	tell := func(line string) { s.tell(strings.Fields(line)) }
	tell("with electors=a,b,c")
	tell("peers a b")
	tell("wait 30")
	unled(3 * time.Second)
	tell("a leads reign=3")
	tell("still 81") // one more than the validity of the crowd
	unled(100 * time.Millisecond)
	tell("wait 20")
	if told := s.m.order[0].suggested; told.Leader != (wire.Subject{}) {
		t.Fatalf("it names %v", told)
	}
	if ago := s.now - s.m.Snapshot()[0].Unled; ago < 1900*time.Millisecond || ago > 2100*time.Millisecond {
		t.Errorf("nobody has led for %v", ago)
	}
	if all := s.m.Snapshot(); slices.ContainsFunc(all, func(st Status) bool { return st.Lacking >= 0 }) {
		t.Error("a node of the crowd speaks of the electors' majority")
	}
}

// Whom a machine names is judged when it is asked: after the process stood still nobody is told that it leads, or that one leads
// which it has not heard for a validity, before it has had a Tick, and whatever message comes first.
func TestAStatusIsJudgedWhenItIsAsked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, story  string
		still, after time.Duration // for which the status still stands, and no longer
	}{
		{"it leads", "with\npeers a b\nseniority 3\na seniority=0\nwait 4\na seniority=0\nwait 1", 390 * time.Millisecond, 410 * time.Millisecond},
		{"an elector, leading", "with electors=z,a,b\npeers a b\nseniority 3\na near\nwait 3\na near\nwait 1", 390 * time.Millisecond, 410 * time.Millisecond},
		{"it follows", "with\npeers a b\na seniority=5 leads reign=3", 800 * time.Millisecond, 801 * time.Millisecond},
		{"of the crowd", "with electors=a,b,c\npeers a b\na leads reign=3", 8000 * time.Millisecond, 8001 * time.Millisecond},
		{"paper, leading", "with policy=paper\npeers a b\nwait 4", 4400 * time.Millisecond, 4900 * time.Millisecond},
		{"paper, following", "with policy=paper\npeers a b c\nvote a for a\nvote b for a\nwait 3", 4400 * time.Millisecond, 4900 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &story{t: t, sequences: map[string]uint64{}, now: 5 * time.Hour}
			for line := range strings.SplitSeq(c.story, "\n") {
				s.tell(strings.Fields(line))
			}
			said := s.m.order[0].suggested
			if said.Leader == (wire.Subject{}) {
				t.Fatal("it names nobody, and the test shows nothing")
			}
			s.m.Pass(s.now + c.still)
			if st := s.m.Snapshot()[0]; st.Suggestion != said {
				t.Errorf("after %v it names %+v, want %+v", c.still, st.Suggestion, said)
			}
			s.m.Pass(s.now + c.after)
			if st := s.m.Snapshot()[0]; st.Suggestion != (Suggestion{}) || st.State == Leading || st.Heard != -1 {
				t.Errorf("after %v it names %+v, is %v, and has heard it %v ago", c.after, st.Suggestion, st.State, st.Heard)
			}
			s.now += time.Hour
			s.tell(strings.Fields("news b flags on"))
			if st := s.m.Snapshot()[0]; st.Suggestion != (Suggestion{}) || st.State == Leading {
				t.Errorf("after an hour, and the first message, it names %+v, and is %v", st.Suggestion, st.State)
			}
		})
	}
}

// A word counts for nothing before its signature was looked at: neither one of somebody who does not stand, which shows that a neighbour is
// there, nor a vote, nor a copy that would show two hosts with one key.
func TestWordsThatAreNotSigned(t *testing.T) {
	t.Parallel()
	sign := func(s wire.Said, right bool) wire.Said {
		if s.Signature = (honest{s.Subject}).Sign(s.Signed()); !right {
			s.Signature = append(slices.Clone(s.Signature), 'x')
		}
		return s
	}
	beat := func(stands, right bool) wire.Said {
		b := wire.Heartbeat{Stands: stands, Wide: true, Host: "host"}
		return sign(wire.Said{Statement: wire.Statement{Subject: named("b"), Incarnation: 1, Sequence: 1, Namespace: "site", Body: b.Body()}}, right)
	}
	vote := func(right bool) wire.Said {
		v := wire.Vote{Leader: named("b")}
		return sign(wire.Said{Statement: wire.Statement{Subject: named("b"), Incarnation: 1, Sequence: 1, Namespace: "site", Body: v.Body()}}, right)
	}
	for name, c := range map[string]struct {
		policy string
		said   func(right bool) wire.Said
		counts func(*Machine, []Action) bool
	}{
		"one that does not stand": {
			said:   func(right bool) wire.Said { return beat(false, right) },
			counts: func(m *Machine, _ []Action) bool { return m.order[0].heard == m.now },
		},
		"one that stands": {
			said:   func(right bool) wire.Said { return beat(true, right) },
			counts: func(m *Machine, _ []Action) bool { return len(m.order[0].ranked) > 0 },
		},
		"a vote": {
			policy: Paper,
			said:   vote,
			counts: func(m *Machine, _ []Action) bool { return len(m.order[0].paper.votes) > 0 },
		},
	} {
		for _, right := range []bool{true, false} {
			m := New(Config{Self: named("a"), Incarnation: 1, Scheme: honest{named("a")}, Namespaces: []Namespace{{Name: "site", Policy: c.policy}}})
			m.Step(0, Arcs{Peers: []Peer{{Name: "b", Subject: named("b")}}})
			all := m.Step(time.Second, Received{From: "b", Parcel: wire.Parcel{Said: []wire.Said{c.said(right)}}})
			refused := slices.ContainsFunc(of[Refused](all), func(r Refused) bool { return errors.Is(r.Why, ErrSignature) })
			if c.counts(m, all) != right || refused == right {
				t.Errorf("%s, signed %v: it counts %v, and is refused %v", name, right, c.counts(m, all), refused)
			}
		}
	}
}

// A copy with another signature shows that two hosts have one key, if it is one: anybody can put other bytes there.
func TestAForgedCopyIsNoTwin(t *testing.T) {
	t.Parallel()
	m := New(Config{Self: named("a"), Incarnation: 1, Scheme: honest{named("a")}, Namespaces: []Namespace{{Name: "site"}}})
	m.Step(0, Arcs{Peers: []Peer{{Name: "b", Subject: named("b")}, {Name: "c", Subject: named("c")}}})
	said := beatOf("b", 1, 0, 9)
	m.Step(time.Second, Received{From: "b", Parcel: wire.Parcel{Said: []wire.Said{said}}})
	said.Signature = append(slices.Clone(said.Signature), 'x')
	all := m.Step(time.Second, Received{From: "c", Parcel: wire.Parcel{Said: []wire.Said{said}}})
	if len(of[Twin](all)) > 0 || len(of[Refused](all)) != 1 {
		t.Errorf("it says %v", all)
	}
}

// That a neighbour is there its own word shows, and not a copy that another one brings: it may have gone since.
func TestACopyIsNoNeighbour(t *testing.T) {
	t.Parallel()
	b := wire.Heartbeat{Wide: true, Host: "host"}
	said := wire.Said{Statement: wire.Statement{Subject: named("b"), Incarnation: 1, Sequence: 1, Namespace: "site", Body: b.Body()}}
	said.Signature = honest{said.Subject}.Sign(said.Signed())
	for from, counts := range map[string]bool{"b": true, "c": false} {
		m := New(Config{Self: named("a"), Incarnation: 1, Scheme: honest{named("a")}, Namespaces: []Namespace{{Name: "site"}}})
		m.Step(0, Arcs{Peers: []Peer{{Name: "b", Subject: named("b")}, {Name: "c", Subject: named("c")}}})
		m.Step(time.Second, Received{From: from, Parcel: wire.Parcel{Said: []wire.Said{said}}})
		if heard := m.order[0].heard == m.now; heard != counts {
			t.Errorf("brought by %s: somebody is heard %v", from, heard)
		}
	}
}
