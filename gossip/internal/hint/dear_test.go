package hint

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/conchhq/conch/gossip/internal/wire"
)

// signaturesEach is how many signatures of one peer are verified in a round.
const signaturesEach = freshNews/2 + standbys*beatsEach + mostBeats

// counted counts the signatures that are verified.
type counted struct {
	Scheme

	verified int
}

func (c *counted) Verify(by wire.Subject, b, signature []byte) bool {
	c.verified++
	return c.Scheme.Verify(by, b, signature)
}

// forged is a statement that its subject has not signed.
func forged(subject string, incarnation, sequence uint64, topic string, body []byte) wire.Said {
	s := invented(subject, sequence, topic, 0, body)
	s.Incarnation, s.Signature = incarnation, []byte(fmt.Sprint("forged ", sequence))
	return s
}

// Whatever a peer brings, few signatures of it are verified in a round: those of known candidates and of electors, of copies that differ,
// of this node's own words, of news under a known key, and of votes too. To verify one takes a hundred times as long as everything else.
func TestNothingIsVerifiedWithoutEnd(t *testing.T) {
	t.Parallel()
	beat := wire.Heartbeat{Stands: true, Leads: true, Reign: 1, Host: "host"}.Body()
	known := []wire.Said{invented("a", 1, "", 0, beat), invented("a", 2, "flag", 0, nil)}
	for name, c := range map[string]struct {
		space Namespace
		said  func(n uint64) wire.Said
	}{
		"a known candidate's": {Namespace{}, func(n uint64) wire.Said { return forged("a", 1, 9+n, "", beat) }},
		"an elector's":        {Namespace{Electors: []wire.Subject{named("a"), named("b"), named("z")}}, func(n uint64) wire.Said { return forged("b", 1, 9+n, "", beat) }},
		"a copy's": {Namespace{}, func(n uint64) wire.Said {
			s := forged("a", 1, 1, "", beat)
			s.Signature = fmt.Append(nil, n)
			return s
		}},
		"its own":            {Namespace{}, func(n uint64) wire.Said { return forged("z", 2, n, "", beat) }},
		"its own news":       {Namespace{}, func(n uint64) wire.Said { return forged("z", 2, n, "flag", nil) }},
		"known news":         {Namespace{}, func(n uint64) wire.Said { return forged("a", 1, 9+n, "flag", nil) }},
		"the peer's votes":   {Namespace{Policy: Paper}, func(n uint64) wire.Said { return invented("p0", 9+n, "", 0, wire.Vote{Leader: named("a")}.Body()) }},
		"the peer's, a rest": {Namespace{}, func(n uint64) wire.Said { return invented("p0", 9+n, "", 0, wire.Heartbeat{Host: "host"}.Body()) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.space.Name = "site"
			counting := &counted{Scheme: honest{named("z")}}
			m := New(Config{Self: named("z"), Incarnation: 1, Scheme: counting, Namespaces: []Namespace{c.space}})
			m.Step(0, Arcs{Peers: []Peer{{Name: "p0", Subject: named("p0")}, {Name: "a", Subject: named("a")}}})
			m.brings(0, "a", known...)
			counting.verified = 0
			n := uint64(0)
			const rounds = 20
			for i := range rounds {
				now := time.Duration(i+1) * m.cfg.Round
				for range 20 {
					var all []wire.Said
					for range 12 {
						n++
						all = append(all, c.said(n))
					}
					m.brings(now, "p0", all...)
				}
			}
			if most := (rounds + 8) * (freshNews + mostBeats); counting.verified > most {
				t.Errorf("of %d statements %d were verified, want %d at most", n, counting.verified, most)
			}
		})
	}
}

// The news of many peers that has no room in a round is not verified in vain: each of them alone is within what it may cost.
func TestNewsWithoutRoomIsNotVerified(t *testing.T) {
	t.Parallel()
	const peers, rounds = 8, 20
	m := crowded(peers)
	counting := &counted{Scheme: m.cfg.Scheme}
	m.cfg.Scheme = counting
	n := 0
	for i := range rounds {
		now := time.Duration(i+1) * m.cfg.Round
		for p := range peers {
			for range freshNews {
				n++
				m.brings(now, fmt.Sprint("p", p), invented(fmt.Sprint("s", n), 1, "t", 0, nil))
			}
		}
	}
	if most := (rounds + 8) * freshNews; counting.verified > most {
		t.Errorf("of %d pieces %d were verified, and %d have room", n, counting.verified, most)
	}
	// A peer that forges takes no room from the others.
	now := time.Duration(rounds+1) * m.cfg.Round
	for i := range uint64(2 * freshNews) {
		m.brings(now, "p0", forged("a", 1, i+1, "t", nil))
	}
	if n := heardIn(m.brings(now, "p1", invented("b", 1, "flag", 0, nil))); n != 1 {
		t.Error("news is left out for what others have forged")
	}
}

// A flood of news takes nothing from the heartbeats that the same peer brings: a relay of the flood is a relay of the leader's, too.
func TestNewsLeavesNoHeartbeatOut(t *testing.T) {
	t.Parallel()
	m := crowded(2)
	var all []wire.Said
	for i := range 8 * mostBrought / 2 {
		all = append(all, invented(fmt.Sprint("s", i), 1, "t", 0, nil))
	}
	m.brings(0, "p0", all...)
	m.brings(0, "p0", invented("a", 1, "", 0, wire.Heartbeat{Stands: true, Leads: true, Reign: 9}.Body()))
	if got := m.Suggestion("site").Leader; got != named("a") {
		t.Errorf("among all that news the leader is %q", nameOf(got))
	}
}

// A heartbeat that an elector brings itself counts, whatever else it brings for others.
func TestAnElectorsOwnWordGoesFirst(t *testing.T) {
	t.Parallel()
	m := New(Config{Self: named("z"), Incarnation: 1, Scheme: honest{named("z")}, Namespaces: []Namespace{{Name: "site", Electors: []wire.Subject{named("a"), named("z")}}}})
	m.Step(0, Arcs{Peers: []Peer{{Name: "a", Subject: named("a")}}})
	for i := range uint64(8 * mostBrought / 2) {
		m.brings(0, "a", forged("z", 2, i+1, "", nil))
	}
	m.brings(0, "a", invented("a", 1, "", 0, wire.Heartbeat{Stands: true, Leads: true, Reign: 9}.Body()))
	if got := m.Suggestion("site").Leader; got != named("a") {
		t.Errorf("the leader is %q", nameOf(got))
	}
}

// What a peer sends is decoded only while it may cost something, whatever it is: most of it is refused for that, and not for what it holds.
func TestNothingIsDecodedWithoutEnd(t *testing.T) {
	t.Parallel()
	for name, body := range map[string][]byte{
		"garbage": []byte("garbage"), "nothing": nil, "much": make([]byte, 100*paysFor), "marks": marked(t),
	} {
		m := crowded(2)
		const sent = 9 * mostBrought
		told := 0
		for range sent {
			for _, a := range m.Step(0, Message{From: "p0", Body: body}) {
				if r, is := a.(Refused); is && errors.Is(r.Why, ErrFlood) {
					told++
				}
			}
		}
		most := 8 * mostBrought / (1 + len(body)/paysFor)
		if read := sent - m.Refusals()[ErrFlood]; read > most || told != 1 {
			t.Errorf("%s: of %d messages %d were decoded, want %d at most; that it is too much was said %d times", name, sent, read, most, told)
		}
		m.Step(0, Message{From: "p1", Body: body})
		if m.Refusals()[ErrFlood]+most != sent {
			t.Errorf("%s: the other peer has nothing left", name)
		}
	}
}

// marked is a parcel that asks for nothing, and takes long to be decoded.
func marked(t *testing.T) []byte {
	b, err := wire.Encode(wire.Parcel{Marks: make([]wire.Mark, wire.MostMarks)})
	if err != nil {
		t.Fatal(err)
	}
	return b
}
