package overlay

import (
	"fmt"
	"math"
	"testing"
	"time"
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
