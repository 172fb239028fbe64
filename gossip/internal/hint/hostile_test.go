package hint

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/conchhq/conch/gossip/internal/wire"
)

// A member may invent subjects, since a subject is a key and anybody can make one. What they cost is bounded.

// crowded is a machine with so many peers.
func crowded(peers int) *Machine {
	m := New(Config{Self: named("z"), Incarnation: 1, Scheme: honest{named("z")}, Namespaces: []Namespace{{Name: "site"}}})
	var all []Peer
	for i := range peers {
		all = append(all, Peer{Name: fmt.Sprint("p", i), Subject: named(fmt.Sprint("p", i))})
	}
	m.Step(0, Arcs{Peers: all})
	return m
}

func invented(subject string, sequence uint64, topic string, age int32, body []byte) wire.Said {
	s := wire.Said{Statement: wire.Statement{Subject: named(subject), Incarnation: 1, Sequence: sequence, Namespace: "site", Topic: topic, Body: body}, Age: age}
	s.Signature = honest{s.Subject}.Sign(s.Signed())
	return s
}

func (m *Machine) brings(now time.Duration, from string, said ...wire.Said) []Action {
	return m.Step(now, Received{From: from, Parcel: wire.Parcel{Said: said}})
}

func heardIn(out []Action) (n int) {
	for _, a := range out {
		if _, is := a.(Heard); is {
			n++
		}
	}
	return n
}

// Candidates that come to the top of the order and stand no more are remembered as old ones, so many at most.
func TestInventedCandidates(t *testing.T) {
	t.Parallel()
	m := crowded(2)
	now := time.Duration(0)
	for i := range 4 * mostRested {
		now += 10 * time.Millisecond
		name, high := fmt.Sprint("s", i), uint64(i+1)
		m.brings(now, "p0", invented(name, 1, "", 0, wire.Heartbeat{Stands: true, Seniority: high}.Body()))
		m.brings(now, "p0", invented(name, 2, "", 0, wire.Heartbeat{Seniority: high}.Body()))
	}
	if n := len(m.order[0].all); n < standbys || n > mostRested {
		t.Errorf("%d candidates are remembered, want %d at most", n, mostRested)
	}
	// One that is the leader is not forgotten for them.
	m = crowded(2)
	m.brings(0, "p1", invented("a", 1, "", 0, wire.Heartbeat{Stands: true, Leads: true, Reign: 9}.Body()))
	for i := range 2 * mostRested {
		name := fmt.Sprint("s", i)
		m.brings(1, "p0", invented(name, 1, "", 0, wire.Heartbeat{Stands: true, Seniority: uint64(i + 1)}.Body()))
		m.brings(1, "p0", invented(name, 2, "", 0, wire.Heartbeat{}.Body()))
	}
	if got := m.Suggestion("site").Leader; got != named("a") {
		t.Errorf("the leader is %q", nameOf(got))
	}
}

// News that had to make room for more is not told a second time when a peer brings it again, as old as it is or as if it were young,
// and travels no further, for two minutes. Then it may.
func TestNewsThatMadeRoomIsToldOnce(t *testing.T) {
	t.Parallel()
	m := crowded(2)
	if n := heardIn(m.brings(time.Second, "p0", invented("a", 1, "flag", 0, nil))); n != 1 {
		t.Fatalf("it was told %d times", n)
	}
	now := 2 * time.Second
	for i := range mostNews {
		if i%freshNews == 0 {
			now += 100 * time.Millisecond
		}
		m.brings(now, fmt.Sprint("p", i%2), invented(fmt.Sprint("s", i), 1, "t", 0, nil))
	}
	if m.news[wire.Key{Subject: named("a"), Namespace: "site", Topic: "flag"}] != nil {
		t.Fatal("it is kept still")
	}
	now += time.Second
	if out := m.brings(now, "p1", invented("a", 1, "flag", int32((now-time.Second)/m.cfg.Round), nil)); len(out) > 0 {
		t.Errorf("when it comes again: %+v", out)
	}
	for said := time.Second; now < said+2*keeps*m.cfg.Round; now += 10 * time.Second {
		if out := m.brings(now, "p1", invented("a", 1, "flag", 0, nil)); len(out) > 0 {
			t.Fatalf("when it comes again after %v as if it were young: %+v", now-said, out)
		}
		m.Step(now, Tick{})
	}
	if n := heardIn(m.brings(now, "p1", invented("a", 2, "flag", 0, nil))); n != 1 {
		t.Error("what the same subject says later is not told")
	}
	now += 4 * keeps * m.cfg.Round
	m.brings(now, "p1", invented("a", 2, "flag", 0, nil))
	if m.forgetNews(); len(m.known.young)+len(m.known.old) > 2*mostNews {
		t.Errorf("%d words are remembered", len(m.known.young)+len(m.known.old))
	}
	if n := heardIn(m.brings(now, "p1", invented("b", 1, "flag", 0, nil))); n != 1 {
		t.Error("what is new is not told any more")
	}
}

// However many peers bring news, a node passes on less of it in a round than its peers take of one peer: otherwise honest
// relays of a flood are taken for its source, and the heartbeats that they bring are lost with it.
func TestAFloodThroughHonestRelays(t *testing.T) {
	t.Parallel()
	const sources = 8
	m, n := crowded(sources+1), 0
	passed, told := 0, 0
	var now time.Duration
	for range 50 {
		now += m.cfg.Round
		for p := range sources {
			var all []wire.Said
			for range 200 {
				n++
				all = append(all, invented(fmt.Sprint("s", n), 1, "t", 0, nil))
			}
			for _, a := range m.brings(now, fmt.Sprint("p", p), all...) {
				switch a := a.(type) {
				case Send:
					passed++
				case Refused:
					told++
					if !errors.Is(a.Why, ErrNews) {
						t.Fatalf("%+v", a)
					}
				}
			}
		}
	}
	if most := 50*freshNews + 8*freshNews; passed > most || passed < 50*freshNews {
		t.Errorf("%d pieces were passed on in 50 rounds; want %d to %d", passed, 50*freshNews, most)
	}
	if told == 0 || told > 50*(sources+1) {
		t.Errorf("it was said %d times in 50 rounds of %d sources", told, sources)
	}
	if m.Refusals()[ErrNews] != n-passed {
		t.Errorf("%d were counted, %d of %d passed on", m.Refusals()[ErrNews], passed, n)
	}
	m.brings(now, fmt.Sprint("p", sources), invented("a", 1, "", 0, wire.Heartbeat{Stands: true, Leads: true, Reign: 9}.Body()))
	if got := m.Suggestion("site").Leader; got != named("a") {
		t.Errorf("among all that news the leader is %q", nameOf(got))
	}
}

// To ask costs little and to answer much, so a peer may ask so often.
func TestAPeerThatAsksWithoutEnd(t *testing.T) {
	t.Parallel()
	m := crowded(2)
	for i := range 5 * freshNews {
		m.brings(0, "p0", invented(fmt.Sprint("s", i), 1, "t", 0, make([]byte, wire.MostBody)))
	}
	answers, refused := 0, 0
	for range 5000 {
		for _, a := range m.Step(time.Millisecond, Received{From: "p1", Parcel: wire.Parcel{Opening: true}}) {
			switch a.(type) {
			case Send:
				answers++
			case Refused:
				refused++
			}
		}
	}
	if answers < 8 || answers > 100 || refused != 1 {
		t.Errorf("%d answers and %d refusals", answers, refused)
	}
	if out := m.Step(time.Millisecond, Received{From: "p0", Parcel: wire.Parcel{Opening: true}}); len(out) != 1 {
		t.Errorf("the other peer has %d answers", len(out))
	}
}

// A neighbour may vote for leaders that it has invented: so many are remembered at most (policy paper).
func TestInventedVotes(t *testing.T) {
	t.Parallel()
	m := New(Config{Self: named("z"), Incarnation: 1, Scheme: honest{named("z")}, Namespaces: []Namespace{{Name: "site", Policy: Paper}}})
	m.Step(0, Arcs{Peers: []Peer{{Name: "p0", Subject: named("p0")}, {Name: "p1", Subject: named("p1")}}})
	for i := range uint64(4 * mostRested) {
		now := time.Duration(i) * time.Millisecond
		m.brings(now, "p0", invented("p0", i+1, "", 0, wire.Vote{Leader: named(fmt.Sprint("s", i)), Sequence: i}.Body()))
		m.Step(now, Tick{})
	}
	if n := len(m.order[0].paper.evidence); n > mostRested {
		t.Errorf("%d leaders are remembered, want %d at most", n, mostRested)
	}
	now := 4 * mostRested * time.Millisecond
	m.brings(now, "p1", invented("p1", 1, "", 0, wire.Vote{Leader: named("p1")}.Body()))
	if !m.order[0].paper.heardSince(named("p1"), now) {
		t.Error("a leader that has said so itself is not heard of, since a neighbour has named so many others")
	}
}

// A peer that connects once more has what it had left, and no more; with time it has all again, and then nothing is known of it.
func TestToReconnectPaysNothing(t *testing.T) {
	t.Parallel()
	m := crowded(2)
	const each = standbys*beatsEach + mostBeats // signatures of heartbeats
	both := Arcs{Peers: []Peer{{Name: "p0", Subject: named("p0")}, {Name: "p1", Subject: named("p1")}}}
	took, n := 0, 0
	flood := func(now time.Duration) {
		all := make([]wire.Said, 8*mostBrought)
		for i := range all {
			n++
			all[i] = invented("s", uint64(n), "", 0, wire.Heartbeat{Stands: true}.Body())
		}
		m.brings(now, "p0", all...)
		took = int(m.order[0].all[named("s")].said.Sequence) - n + len(all)
	}
	flood(0)
	for range 20 {
		m.Step(0, Arcs{Peers: both.Peers[1:]})
		m.Step(0, both)
		m.brings(0, "p0", invented("t", 1, "", 0, wire.Heartbeat{Stands: true}.Body()))
	}
	if m.order[0].all[named("t")] != nil || took != 2*each {
		t.Errorf("of one that connects again and again %d statements are taken, and more", took)
	}
	m.Step(0, Arcs{Peers: both.Peers[1:]})
	m.Step(m.cfg.Round, both)
	if flood(m.cfg.Round); took != each {
		t.Errorf("a round later %d are taken, want %d", took, each)
	}
	m.Step(m.cfg.Round, Arcs{})
	if len(m.gone) != 1 {
		t.Errorf("what %d peers owe is known, want one", len(m.gone))
	}
	m.Step(9*m.cfg.Round, both)
	if flood(9 * m.cfg.Round); took != 2*each || len(m.gone) != 0 {
		t.Errorf("eight rounds later %d are taken, and %d peers owe something", took, len(m.gone))
	}
}

// A thief of this node's key says something in the last life that there is, soon after the start: this node cannot rise above it. It begins at no
// 0, says that two hosts have the key, and does not lead.
func TestTheLastIncarnation(t *testing.T) {
	t.Parallel()
	m := crowded(2)
	said := invented("z", 1, "", 0, wire.Heartbeat{Stands: true, Host: "host-b"}.Body())
	said.Incarnation = math.MaxUint64
	said.Signature = honest{said.Subject}.Sign(said.Signed())
	told := false
	for _, a := range m.brings(100*time.Millisecond, "p0", said) {
		if _, is := a.(Twin); is {
			told = true
		}
	}
	if !told || m.incarnation == 0 || m.order[0].state.mayStand() {
		t.Errorf("it has told of two hosts: %t; it goes on as incarnation %d, and is %v", told, m.incarnation, m.order[0].state)
	}
}

// A flood of valid news of made-up keys takes a node little time: what is left out in the end is left out before its signature is
// looked at, which takes a hundred times as long as everything else. To connect once more pays for nothing.
func TestAFloodIsNotVerified(t *testing.T) {
	t.Parallel()
	m := crowded(2)
	counting := &counted{Scheme: m.cfg.Scheme}
	m.cfg.Scheme = counting
	n, now := 0, time.Duration(0)
	const rounds = 50
	for i := range rounds {
		now += m.cfg.Round
		var all []wire.Said
		for range 250 {
			n++
			all = append(all, invented(fmt.Sprint("s", n), 1, "t", 0, nil), invented(fmt.Sprint("c", n), 1, "", 0, wire.Heartbeat{Stands: true, Seniority: uint64(n)}.Body()))
		}
		m.brings(now, "p0", all...)
		if i%10 == 9 {
			m.Step(now, Arcs{Peers: []Peer{{Name: "p1", Subject: named("p1")}}})
			m.Step(now, Arcs{Peers: []Peer{{Name: "p0", Subject: named("p0"), Since: now}, {Name: "p1", Subject: named("p1")}}})
		}
	}
	if most := (rounds + 8) * signaturesEach; counting.verified > most {
		t.Errorf("of %d statements %d were verified, want %d at most", 2*n, counting.verified, most)
	}
	if n := heardIn(m.brings(now, "p1", invented("b", 1, "flag", 0, nil))); n != 1 {
		t.Error("the news of another peer is not heard meanwhile")
	}
}

// A relay of a flood may bring all the news that a round allows at the beginning of each. An honest piece that comes by it later finds room: else
// whether it is heard would depend on when two nodes have begun, in each exchange as well, and a flood leaves time for few of those.
func TestNewsBehindAFloodIsHeard(t *testing.T) {
	t.Parallel()
	m := crowded(1)
	junk := 0
	for i := range 20 {
		now := time.Duration(i+1) * m.cfg.Round
		for range freshNews {
			junk++
			m.brings(now, "p0", invented(fmt.Sprint("s", junk), 1, "t", 0, nil))
		}
		if n := heardIn(m.brings(now+m.cfg.Round/2, "p0", invented(fmt.Sprint("honest ", i), 1, "flag", 0, nil))); n == 0 {
			t.Errorf("round %d: the piece is not heard", i)
		}
	}
	if heard := len(m.news) - 20; heard > 21*freshNews/2 {
		t.Errorf("%d pieces of the flood were heard, want %d at most", heard, 21*freshNews/2)
	}
}
