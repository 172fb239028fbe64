package overlay

import (
	"fmt"
	"strings"
	"testing"
)

// scene is a machine with the neighbours b and c, an arc to each, and nothing under way.
func scene(t testing.TB) *story {
	s := &story{t: t}
	s.play("node floor=1", "tick", "up b", "b hello 5 needs", "up c", "c hello 6 needs", "b exchange 1 b c", "tick 6")
	return s
}

func many(n int) (all []Peer) {
	for i := range n {
		all = append(all, Peer{Name: fmt.Sprint("x", i)})
	}
	return all
}

// Whatever breaks a limit is refused with its reason, and changes neither view nor neighbours (B23).
func TestBadMessages(t *testing.T) {
	t.Parallel()
	us, long := Peer{Name: "a"}, strings.Repeat("n", MostName+1)
	for _, test := range []struct {
		name string
		from string
		msg  Message
		why  Why
	}{
		{"of a stranger", "z", Exchange{Number: 1, Arcs: many(1)}, Unconnected},
		{"nothing", "b", nil, Malformed},
		{"an exchange without arcs", "b", Exchange{Number: 2}, Malformed},
		{"too many arcs", "b", Exchange{Number: 2, Arcs: many(MostSample + 1)}, Malformed},
		{"too many arcs in an answer", "b", Exchanged{Number: 2, Arcs: many(MostSample + 1)}, Malformed},
		{"too many in a welcome", "b", Welcome{Number: 2, Met: many(MostMet + 1)}, Malformed},
		{"a name that is too long", "b", Forward{Number: 2, Newcomer: Peer{Name: long}}, Malformed},
		{"no name", "b", Forward{Number: 2}, Malformed},
		{"a name that nobody can read", "b", Forward{Number: 2, Newcomer: Peer{Name: "x\x1b[2J"}}, Malformed},
		{"a name that is no text", "b", Forward{Number: 2, Newcomer: Peer{Name: "x\xff"}}, Malformed},
		{"a start without a name", "b", Hello{Holds: true}, Malformed},
		{"an address that is too long", "b", Hello{Incarnation: 5, Address: strings.Repeat("x", MostAddress+1)}, Malformed},
		{"an address that nobody can read", "b", Exchange{Number: 2, Arcs: []Peer{{Name: "x", Address: "\n"}}}, Malformed},
		{"a view with us in it", "b", Exchange{Number: 2, Arcs: append(many(2), us)}, NamesUs},
		{"an answer with us in it", "b", Exchanged{Number: 2, Arcs: []Peer{us}}, NamesUs},
		{"a welcome with us in it", "b", Welcome{Number: 2, Met: []Peer{us}}, NamesUs},
		{"us as a newcomer", "b", Forward{Number: 2, Newcomer: us}, NamesUs},
		{"an answer to nothing", "b", Exchanged{Number: 2, Arcs: many(2)}, Unasked},
		{"a welcome to nothing", "b", Welcome{Number: 2, Met: many(2)}, Unasked},
		{"others, and nobody has asked", "b", Welcome{Met: many(2)}, Unasked},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := scene(t)
			before := s.play("view")
			did := s.m.Step(Received{From: test.from, Message: test.msg})
			if len(did) != 1 || did[0] != (Refused{From: test.from, Why: test.why}) {
				t.Errorf("it does %v, want that it is refused: %s", did, test.why)
			}
			if after := s.play("view"); after[0] != before[0] {
				t.Errorf("%s has become %s", before[0], after[0])
			}
		})
	}
}

// count plays one input many times, and returns how often it was refused for that reason.
func (s *story) count(why Why, in ...Input) (n int) {
	for _, one := range in {
		for _, a := range s.m.Step(one) {
			if r, is := a.(Refused); is && r.Why == why {
				n++
			}
		}
	}
	return n
}

// A peer that floods is refused over its share, and another one is heard.
func TestAFloodCostsNobodyElse(t *testing.T) {
	t.Parallel()
	s := scene(t)
	s.play("tick")
	var flood []Input
	for range 10 * budget {
		flood = append(flood, Received{From: "b", Message: Hello{Incarnation: 5, Holds: true}})
	}
	if got := s.count(Flooding, flood...); got != 9*budget {
		t.Errorf("%d of %d messages are refused, want %d", got, len(flood), 9*budget)
	}
	if got := s.play("c exchange 9 d"); !strings.Contains(got[0], "exchanged 9") {
		t.Errorf("another peer's exchange causes %v", got)
	}
	s.play("tick")
	if got := s.play("b forward 3 e"); len(got) != 1 || got[0] != "connect to e" {
		t.Errorf("after a tick its message causes %v", got)
	}
}

// One that connects again and again within a tick has no more than one that stays.
func TestToReconnectPaysNothing(t *testing.T) {
	t.Parallel()
	s := &story{t: t}
	s.play("node floor=1", "tick", "up b", "b hello 5 needs", "up c", "tick")
	hello := Received{From: "c", Message: Hello{Incarnation: 6, Holds: true}}
	in := []Input{}
	for range 10 {
		for range budget {
			in = append(in, hello)
		}
		in = append(in, Down{Peer: "c"}, Up{Peer: "c"})
	}
	if got := s.count(Flooding, in...); got != 9*budget {
		t.Errorf("%d of %d messages are refused, want %d", got, 10*budget, 9*budget)
	}
	s.play("down c", "tick", "up c")
	if got := s.count(Flooding, hello); got > 0 {
		t.Error("after a tick it is refused")
	}
}

// A peer that asks for arc after arc fills the view up to a limit, and no further.
func TestAViewHasALimit(t *testing.T) {
	t.Parallel()
	s := scene(t)
	for i := range uint64(3 * MostArcs) {
		s.m.Step(Received{From: "b", Message: Forward{Number: i, Newcomer: Peer{Name: fmt.Sprint("x", i)}}})
		if i%budget == 0 {
			s.m.Step(Tick{})
		}
	}
	if got := s.m.Snapshot(); got.Arcs+got.Given != MostArcs {
		t.Errorf("%d arcs, want %d", got.Arcs+got.Given, MostArcs)
	}
	s.play("tick 5")
	s.m.Step(Received{From: "c", Message: Exchange{Number: 9, Arcs: many(MostSample)}})
	if got := s.m.Snapshot(); got.Arcs+got.Given > MostArcs {
		t.Errorf("%d arcs after an exchange, want %d at most", got.Arcs+got.Given, MostArcs)
	}
}

// Connections that others open have a limit.
func TestConnectionsHaveALimit(t *testing.T) {
	t.Parallel()
	s := scene(t)
	var all []Input
	for i := range 2 * MostPeers {
		all = append(all, Up{Peer: fmt.Sprint("x", i)})
	}
	if got, want := s.count(Crowded, all...), MostPeers+2; got != want {
		t.Errorf("%d connections are refused, want %d", got, want)
	}
	if got := len(s.m.Neighbours()); got != MostPeers {
		t.Errorf("%d neighbours, want %d", got, MostPeers)
	}
	for _, bad := range []string{"", "a", strings.Repeat("n", MostName+1)} {
		if got := scene(t).m.Step(Up{Peer: bad}); len(got) != 2 || got[1] != (Disconnect{Peer: bad}) {
			t.Errorf("a connection with %q causes %v", bad, got)
		}
	}
}

// Where there is no room a connection gives way that neither side needs any more, so that a newcomer finds one.
func TestIdleConnectionsGiveWay(t *testing.T) {
	t.Parallel()
	s := scene(t)
	for i := range 2 * MostPeers {
		s.m.Step(Up{Peer: fmt.Sprint("x", i)})
	}
	s.m.Step(Received{From: "x7", Message: Hello{Incarnation: 1}}) // it does not need the connection
	got := s.m.Step(Up{Peer: "newcomer"})
	if len(got) < 2 || got[0] != (Disconnect{Peer: "x7"}) || got[1] != (Lost{Peer: "x7"}) {
		t.Errorf("a newcomer causes %v", got)
	}
	if n := s.count(Crowded, Up{Peer: "another"}); n != 1 || len(s.m.Neighbours()) != MostPeers {
		t.Errorf("%d connections are refused, and there are %d neighbours: want 1 and %d", n, len(s.m.Neighbours()), MostPeers)
	}
}

// A newcomer that was welcomed has all that it came for, and gives way to the next one; the first one first.
func TestTheWelcomedGiveWay(t *testing.T) {
	t.Parallel()
	s := scene(t)
	for i := range 2 * MostPeers {
		s.m.Step(Up{Peer: fmt.Sprint("x", i)})
	}
	for _, name := range []string{"x9", "x7"} {
		s.m.Step(Received{From: name, Message: Subscribe{Number: 5}})
	}
	for _, first := range []string{"x9", "x7"} {
		if got := s.m.Step(Up{Peer: "new to " + first}); len(got) < 2 || got[0] != (Disconnect{Peer: first}) {
			t.Errorf("a newcomer causes %v, want that %s goes", got, first)
		}
	}
	if n := s.count(Crowded, Up{Peer: "another"}); n != 1 {
		t.Error("one that was not welcomed has gone")
	}
}

// A connection that this node needs gives way to nobody, though its other end does not need it, or was welcomed as a newcomer.
func TestWhatIsNeededGivesNoWay(t *testing.T) {
	t.Parallel()
	for _, says := range []string{"c hello 6 idle", "c subscribe 5"} {
		s := scene(t)
		s.play(says)
		for i := range 2 * MostPeers {
			s.m.Step(Up{Peer: fmt.Sprint("x", i)})
		}
		if c := s.m.findPeer("c"); c == nil || c.state != up || !s.m.arcLeads(c) {
			t.Errorf("after %q an arc has lost its connection", says)
		}
	}
}

// What is remembered of peers that come and go, and of what they send, has a limit.
func TestMemoryHasALimit(t *testing.T) {
	t.Parallel()
	s := scene(t)
	for i := range uint64(2 * MostPeers) {
		name := fmt.Sprint("x", i)
		s.m.Step(Up{Peer: name})
		s.m.Step(Received{From: name, Message: Exchange{Number: 1, Arcs: many(1)}})
		s.m.Step(Down{Peer: name})
		s.m.Step(Received{From: "b", Message: Hello{Incarnation: 5, Holds: true}})
		s.m.Step(Received{From: "b", Message: Forward{Number: i, Newcomer: Peer{Name: "y"}}})
		s.m.Step(Tick{})
	}
	if n := len(s.m.answers); n > MostPeers || n < MostPeers/2 {
		t.Errorf("%d answers are kept, want %d at most", n, MostPeers)
	}
	if n := len(s.m.findPeer("b").recent); n > recentNumbers || n == 0 {
		t.Errorf("%d numbers are kept of one peer, want %d at most", n, recentNumbers)
	}
}

// A peer for which there is no room is told of others. It is no neighbour; it has a moment to read that, and few have it at a
// time.
func TestTurnedAway(t *testing.T) {
	t.Parallel()
	s := scene(t)
	turned, told, ended := map[string]bool{}, 0, 0
	for i := range 3 * MostPeers {
		for _, a := range s.m.Step(Up{Peer: fmt.Sprint("x", i)}) {
			switch a := a.(type) {
			case Refused:
				turned[a.From] = true
			case Send:
				if w, is := a.Message.(Welcome); is && turned[a.To] && w.Number == 0 && len(w.Met) > 0 {
					told++
				}
			case Disconnect:
				ended++
			}
		}
	}
	if told != len(turned) || told == 0 || ended != told-mostTurned {
		t.Errorf("of %d that found no room %d were told of others, and %d are gone: want all, and all but %d", len(turned), told, ended, mostTurned)
	}
	if got := s.m.Step(Received{From: fmt.Sprint("x", 3*MostPeers-1), Message: Subscribe{Number: 1}}); len(got) > 0 {
		t.Errorf("what one asks that does not know it yet causes %v", got)
	}
	for range 2 {
		for _, a := range s.m.Step(Tick{}) {
			if d, is := a.(Disconnect); is && turned[d.Peer] {
				ended++
			}
		}
	}
	if ended != told || len(s.m.turned) > 0 {
		t.Errorf("after two ticks %d of %d are gone", ended, told)
	}
}

// Contacts that name others without end have a newcomer ask few of them before it pauses, and it joins by none.
func TestHintsHaveALimit(t *testing.T) {
	t.Parallel()
	m := New(Config{Self: Peer{Name: "a"}, Incarnation: 1, Contacts: []Peer{{Name: "b"}}})
	asked, dialled := 0, 0
	todo := m.Step(Tick{})
	for n := 0; len(todo) > 0; todo = todo[1:] {
		switch a := todo[0].(type) {
		case Connect:
			dialled++
			todo = append(todo, m.Step(Up{Peer: a.Peer.Name})...)
		case Send:
			if _, is := a.Message.(Subscribe); is {
				asked++
				var met []Peer
				for range MostMet {
					n++
					met = append(met, Peer{Name: fmt.Sprint("x", n)})
				}
				todo = append(todo, m.Step(Received{From: a.To, Message: Welcome{Met: met}})...)
			}
		}
	}
	if asked != mostTries || dialled > mostTries+5 {
		t.Errorf("it asks %d peers and dials %d, want %d, and five to have as neighbours", asked, dialled, mostTries)
	}
	if !m.Snapshot().Joining {
		t.Error("it takes it that it has joined")
	}
}

// A connection that breaks as soon as it is made is not made for ever.
func TestAConnectionThatKeepsBreaking(t *testing.T) {
	t.Parallel()
	s := scene(t)
	dials := 0
	for range 100 {
		for _, line := range append(s.play("down b"), s.play("up b")...) {
			if line == "connect to b" {
				dials++
			}
		}
	}
	if dials > mostBreaks {
		t.Errorf("it is dialled %d times within a period, want %d at most", dials, mostBreaks)
	}
}

// Peers that do not exist are found out, and the view has real ones again.
func TestInventedPeersAreFoundOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.build(20, 500*1e6)
	w.run(20e9)
	liar := w.nodes[3]
	w.after(0, func() {
		for _, n := range w.nodes {
			if n.up[liar] {
				w.feed(n, Received{From: liar.name, Message: Exchange{Number: 1 << 63, Arcs: many(MostSample)}})
			}
		}
	})
	w.run(60e9)
	if w.parts() != 1 {
		t.Errorf("there are %d parts", w.parts())
	}
	for _, n := range w.nodes {
		for _, a := range n.m.view {
			if w.by[a.peer.Name] == nil {
				t.Errorf("%s still has an arc to %s", n.name, a.peer.Name)
			}
		}
	}
}

// While no contact answers a node says that it joins, also between two tries; and again when all that it had is gone.
func TestJoiningIsSaidBetweenTries(t *testing.T) {
	t.Parallel()
	m := New(Config{Self: Peer{Name: "a"}, Incarnation: 1, Contacts: []Peer{{Name: "b"}}})
	for range 50 {
		for _, a := range m.Step(Tick{}) {
			if c, is := a.(Connect); is {
				m.Step(Down{Peer: c.Peer.Name})
			}
		}
		if !m.Snapshot().Joining {
			t.Fatal("it says that it does not join")
		}
	}
	alone := New(Config{Self: Peer{Name: "a"}, Incarnation: 1})
	if alone.Step(Tick{}); alone.Snapshot().Joining {
		t.Error("a node that has nobody to ask says that it joins")
	}
	s := scene(t)
	s.m.joined = true
	if s.m.Snapshot().Joining {
		t.Error("a node with neighbours says that it joins")
	}
	for range 2 * mostBreaks {
		s.m.Step(Down{Peer: "b"})
		s.m.Step(Down{Peer: "c"})
	}
	if !s.m.Snapshot().Joining {
		t.Error("a node that has lost all says that it does not join")
	}
}

// A member may have a node dial whatever it names, as docs/gossip.md says: one address for each message, and a peer may send
// 64 of them in a tick.
func TestWhatALiarHasOthersDial(t *testing.T) {
	t.Parallel()
	s := scene(t)
	dialled, number := map[string]int{}, uint64(1000)
	const ticks = 20
	for range ticks {
		out := s.m.Step(Tick{})
		for range 3 * budget {
			number++
			out = append(out, s.m.Step(Received{From: "b", Message: Forward{Number: number, Newcomer: Peer{Name: fmt.Sprint("x", number), Address: "10.0.0.1:22"}}})...)
		}
		for len(out) > 0 {
			c, is := out[0].(Connect)
			if out = out[1:]; is && c.Peer.Address == "10.0.0.1:22" {
				dialled[c.Peer.Name]++
				out = append(out, s.m.Step(Down{Peer: c.Peer.Name})...)
			}
		}
	}
	total := 0
	for name, n := range dialled {
		if total += n; n > 2 {
			t.Errorf("%s is dialled %d times", name, n)
		}
	}
	if total == 0 || total > budget*ticks {
		t.Errorf("%d addresses are dialled in %d ticks, %d a tick at most", total, ticks, budget)
	}
}
