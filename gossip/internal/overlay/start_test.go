package overlay

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/storytest"
)

// sites starts n nodes that all have the same three contacts, which have each other, so long apart.
func (w *world) sites(n int, apart time.Duration) {
	names := []string{"n0", "n1", "n2"}
	for i := range n {
		o := w.start(fmt.Sprint("n", i))
		for _, c := range names {
			if c != o.name {
				o.m.cfg.Contacts = append(o.m.cfg.Contacts, Peer{Name: c})
			}
		}
		w.run(apart)
	}
	w.run(60 * time.Second)
}

// A site has three contacts, and they have each other: the one that starts first is joined by others before it has joined. Views
// are as large as when each node joins by one that is there (B23).
func TestContactsThatHaveEachOther(t *testing.T) {
	t.Parallel()
	const n, runs = 20, 10
	mean := 0.0
	for seed := range uint64(runs) {
		w := newWorld(t, seed)
		w.sites(n, 6*time.Second)
		mean += w.mean() / runs
	}
	if want := harmonic(n) - 0.5; math.Abs(mean-want) > 1 {
		t.Errorf("views of %d nodes have %.2f arcs on average, want %.2f", n, mean, want)
	}
}

// The first two of a site join by each other at one time, and one of the two is the newcomer: there is an arc each way, and not
// two (B23). Where messages overtake each other, as they may here, there is one more now and then.
func TestTwoThatJoinByEachOther(t *testing.T) {
	t.Parallel()
	arcs, runs := 0, 40
	for seed := range uint64(runs) {
		w := newWorld(t, seed)
		a, b := w.start("a"), w.start("b")
		a.m.cfg.Contacts, b.m.cfg.Contacts = []Peer{{Name: "b"}}, []Peer{{Name: "a"}}
		w.run(8 * time.Second)
		arcs += w.settled()
	}
	if arcs < 2*runs || arcs > 2*runs+4 {
		t.Errorf("in %d runs there are %d arcs, want two each", runs, arcs)
	}
}

// A whole site starts within seconds. Views are as large as they should be, about, although those by which the nodes join
// have not been evened out: with the views as they are there would be twice as many arcs, and they would stay (B23).
func TestASiteStarts(t *testing.T) {
	long(t)
	t.Parallel()
	const n, runs = 50, 8
	for _, apart := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond} {
		mean := 0.0
		for seed := range uint64(runs) {
			w := newWorld(t, seed)
			w.sites(n, apart)
			mean += w.mean() / runs
			if parts := w.parts(); parts != 1 {
				t.Errorf("seed %d: %d parts", seed, parts)
			}
		}
		t.Logf("%v apart: %.2f arcs", apart, mean)
		if want := harmonic(n) - 0.5; math.Abs(mean-want) > 1.5 {
			t.Errorf("%v apart: views of %d nodes have %.2f arcs on average, want %.2f", apart, n, mean, want)
		}
	}
}

// One node starts again every few seconds, for five minutes: the others' views do not fill up with what was to be its arcs
// (B23).
func TestARestartLoop(t *testing.T) {
	long(t)
	t.Parallel()
	const n = 20
	runs, pauses := 6, []time.Duration{3 * time.Second}
	if nightly() {
		runs, pauses = 40, []time.Duration{time.Second, 3 * time.Second, 6 * time.Second, 12 * time.Second}
	}
	for _, every := range pauses {
		mean := 0.0
		for seed := range uint64(runs) {
			w := newWorld(t, seed)
			w.build(n, 2*time.Second)
			w.run(10 * time.Second)
			o := w.nodes[5]
			for range 300 * time.Second / every {
				w.stop(o, 10*time.Millisecond, 200*time.Millisecond)
				w.run(time.Millisecond)
				w.start(o.name, w.nodes[:3]...)
				w.run(every)
			}
			w.run(60 * time.Second)
			mean += w.mean() / float64(runs)
			if parts := w.parts(); parts != 1 {
				t.Errorf("seed %d: %d parts", seed, parts)
			}
		}
		t.Logf("every %v: %.2f arcs", every, mean)
		if want := harmonic(n) - 0.5; mean > want+3 {
			t.Errorf("it starts each %v: views of %d nodes have %.2f arcs on average, want %.2f", every, n, mean, want)
		}
	}
}

// Hundreds of nodes, at night thousands, start within seconds by the same three contacts: after a minute they are in one
// piece, and no contact carries the crowd (B23).
func TestABurst(t *testing.T) {
	long(t)
	t.Parallel()
	n := 200
	if nightly() {
		n = 2000
	}
	w := newWorld(t, 1)
	a := w.start("a")
	b := w.start("b", a)
	c := w.start("c", a, b)
	for i := range n {
		w.start(fmt.Sprint("n", i), a, b, c)
		w.run(10 * time.Second / time.Duration(n))
	}
	w.run(60 * time.Second)
	if parts := w.parts(); parts != 1 {
		t.Errorf("%d parts a minute after %d nodes have started", parts, n)
	}
	t.Logf("views have %.2f arcs, by their number it would be %.2f; refused: %v", w.mean(), harmonic(n+3)-0.5, w.refused)
	for _, o := range []*node{a, b, c} {
		if len(o.live) > 100 {
			t.Errorf("the contact %s has %d neighbours", o.name, len(o.live))
		}
	}
}

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

// states has a story for each state of the machine, and of its connection with b.
var states = []struct{ name, story string }{
	{"away", "node floor=1\ntick"},
	{"dialling for an arc", "node floor=1\ntick\nup c\nc hello 6 needs\nc exchange 1 b c"},
	{"dialling as a spare", "node floor=2\ntick\nup c\nc hello 6 needs\nc exchange 1 b d c\nc hello 6 needs\ntick 5\nc exchange 2 c c"},
	{"asking it to join", "node contacts b\ntick\nup b"},
	{"up, and nobody needs it", "node floor=1\ntick\nup c\nc hello 6 needs\nup b\nb hello 5 idle"},
	{"up, and it needs us", "node floor=1\ntick\nup c\nc hello 6 needs\nup b\nb hello 5 needs"},
	{"up, and we need it", "node floor=1\ntick\nup b\nb hello 5 needs\nb exchange 1 b c\nup c\nb hello 5 idle\ntick 3"},
	{"its exchange is not answered", "node floor=1 every=6\ntick\nup b\nb hello 5 needs\nb exchange 1 b c d\nup c\ntick 5"},
	{"dialled once more", "node floor=1\ntick\nup b\nb hello 5 needs\nb exchange 1 b c\nup c\ntick 4\ndown b"},
	{"lost, and tried again", "node floor=1 every=6\ntick\nup c\nc hello 6 needs\nup b\nb hello 5 needs\nb exchange 1 b c\ntick 3\ndown b\ndown b\ntick 2\nc exchanged N1 c"},
	{"left", "node floor=1\ntick\nup b\nb hello 5 needs\nb exchange 1 b c\nleave"},
}

var happenings = []string{
	"tick", "up b", "down b", "b hello 5 needs", "b hello 5 idle", "b hello 55 idle", "b subscribe 9", "b welcome N1 e",
	"b welcome 77 e", "b forward 3 e", "b exchange 1 b c", "b exchange 4 b e", "b exchanged N1 e", "b exchanged 77 e", "b goodbye", "leave",
}

// Every input in every state of a connection: each line of the file is a decision (B23).
func TestTable(t *testing.T) {
	t.Parallel()
	const file = "testdata/table.golden"
	var b strings.Builder
	for _, state := range states {
		b.WriteString("== " + state.name + "\n")
		for _, line := range happenings {
			s := &story{t: t}
			s.play(strings.Split(state.story, "\n")...)
			b.WriteString(line + "\n")
			for _, done := range append(s.play(line), s.play("view")...) {
				b.WriteString("    " + done + "\n")
			}
		}
	}
	storytest.Golden(t, *update, file, b.String())
}
