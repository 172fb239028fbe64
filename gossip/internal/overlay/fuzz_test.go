package overlay

import (
	"fmt"
	"testing"
)

// Any inputs in any order leave the machine whole: no panic, nothing over its limit, no arc to itself, every arc with a
// connection or on its way to one, and the caller told the truth about neighbours.
func FuzzMachine(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c"))
	for seed := range byte(40) {
		var in []byte
		for i := range byte(200) {
			in = append(in, i*seed+i*i>>3+seed)
		}
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		m := New(Config{Self: Peer{Name: "a"}, Incarnation: 1, Seed: 1, every: 3, Contacts: []Peer{{Name: "b"}}})
		live := map[string]bool{}
		for len(in) > 0 {
			before := len(m.view) + m.flight.arcCount()
			input, used := inputOf(m, in)
			in = in[min(used, len(in)):]
			actions := m.Step(input)
			for _, a := range actions {
				switch a := a.(type) {
				case Gained:
					if live[a.Peer] {
						t.Fatalf("%s is gained twice", a.Peer)
					}
					live[a.Peer] = true
				case Lost:
					if !live[a.Peer] {
						t.Fatalf("%s is lost and was no neighbour", a.Peer)
					}
					delete(live, a.Peer)
				case Send:
					if !Sound(a.Message) || names(a.Message, a.To) {
						t.Fatalf("%s is sent %+v", a.To, a.Message)
					}
				case Refused:
					if after := len(m.view) + m.flight.arcCount(); after != before {
						t.Fatalf("a refused %+v changes the view from %d to %d arcs", input, before, after)
					}
				}
			}
			whole(t, m, live)
		}
	})
}

// whole checks what holds between any two inputs.
func whole(t *testing.T, m *Machine, live map[string]bool) {
	t.Helper()
	if got := m.Neighbours(); fmt.Sprint(len(got)) != fmt.Sprint(len(live)) {
		t.Fatalf("neighbours %v, told %v", got, live)
	}
	if len(m.cache) > mostCache || len(m.lost) > mostLost || len(m.answers) > MostPeers {
		t.Fatalf("%d are remembered, %d lost, %d answers", len(m.cache), len(m.lost), len(m.answers))
	}
	if len(m.view) > MostArcs+MostSample || len(m.peers) > MostPeers+MostArcs+2*MostSample+m.cfg.floor+2 {
		t.Fatalf("%d arcs and %d peers", len(m.view), len(m.peers))
	}
	for _, a := range m.view {
		if a.peer.Name == m.cfg.Self.Name {
			t.Fatal("an arc leads to the node itself")
		}
		if p := m.findPeer(a.peer.Name); p == nil || p.state == away {
			t.Fatalf("nobody connects to %s", a.peer.Name)
		}
	}
}

// inputOf reads an input, and says of how many bytes it is made. Names are few, so that inputs meet.
func inputOf(m *Machine, in []byte) (Input, int) {
	at := func(i int) byte {
		if i < len(in) {
			return in[i]
		}
		return 0
	}
	name := func(b byte) string { return string('a' + rune(b%12)) }
	peers := func(from, n int) (all []Peer) {
		for i := range n {
			all = append(all, Peer{Name: name(at(from + i)), Address: name(at(from+i) >> 4)})
		}
		return all
	}
	from, number := name(at(1)), uint64(at(2))
	if at(2) > 128 {
		number = m.number - uint64(at(2)%4)
	}
	n := int(at(3) % 8)
	switch at(0) % 13 {
	case 0, 1:
		return Up{Peer: from}, 2
	case 2:
		return Down{Peer: from}, 2
	case 3:
		return Received{From: from, Message: Hello{Incarnation: number % 3, Holds: at(3)%2 == 0}}, 4
	case 4:
		return Received{From: from, Message: Subscribe{Number: number}}, 3
	case 5:
		return Received{From: from, Message: Welcome{Number: number, Met: peers(4, n)}}, 4 + n
	case 6:
		return Received{From: from, Message: Forward{Number: number, Newcomer: Peer{Name: name(at(3))}}}, 4
	case 7, 8:
		return Received{From: from, Message: Exchange{Number: number, Arcs: peers(4, n)}}, 4 + n
	case 9, 10:
		return Received{From: from, Message: Exchanged{Number: number, Arcs: peers(4, n)}}, 4 + n
	case 11:
		return Received{From: from, Message: Goodbye{}}, 2
	}
	return Tick{}, 1
}
