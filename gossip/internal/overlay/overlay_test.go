package overlay

import (
	"fmt"
	"math"
	"os"
	"slices"
	"testing"
	"time"
)

func nightly() bool { return os.Getenv("CONCH_NIGHTLY") != "" }

// seeds is how many worlds of n nodes a test looks at.
func seeds(day, night int) int {
	switch {
	case nightly():
		return night
	case few():
		return max(day/4, 1)
	}
	return day
}

// few reports whether there is time for few worlds only.
func few() bool { return !nightly() && (raced || testing.Short()) }

// long skips a test that takes long when there is little time.
func long(t *testing.T) {
	t.Helper()
	if few() {
		t.Skip("the run without the race detector has time for it")
	}
}

// The mean view has H_n − ½ arcs, although no node knows n. Single runs spread from 3 to 6 with a hundred nodes, so forty
// are judged together (B23).
func TestTheMeanView(t *testing.T) {
	t.Parallel()
	for n, apart := range map[int]time.Duration{10: 12 * time.Second, 100: 300 * time.Millisecond, 500: 500 * time.Millisecond} {
		if n > 100 && !nightly() || n > 10 && few() {
			continue
		}
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			sum := 0.0
			for seed := range 40 {
				w := newWorld(t, uint64(seed))
				w.build(n, apart)
				w.run(5 * time.Second) // the last one joins
				sum += w.mean()
			}
			if got, want := sum/40, harmonic(n)-0.5; math.Abs(got-want) > 0.5 {
				t.Errorf("views of %d nodes have %.2f arcs on average, want %.2f", n, got, want)
			}
		})
	}
}

// halves builds n nodes, crashes half of them, and returns in how many parts the others are a minute later. Nobody has a
// contact any more, as if those had crashed too.
func (w *world) halves(n int) int {
	w.build(n, 500*time.Millisecond)
	w.run(40 * time.Second)
	for _, o := range w.nodes {
		o.m.cfg.Contacts = nil
	}
	for i, at := range w.rng.Perm(n) {
		if i < n/2 {
			w.crash(w.nodes[at])
		}
	}
	w.run(60 * time.Second)
	return w.parts()
}

// Half of the nodes crash at once, and the others stay together: never cut, of 400 runs with each number of nodes (B23).
func TestHalfACrash(t *testing.T) {
	t.Parallel()
	for n, day := range map[int]int{10: 60, 20: 20, 50: 8, 100: 3, 500: 1} {
		if n > 100 && !nightly() {
			continue
		}
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			cut, runs := 0, seeds(day, 400)
			for seed := range runs {
				if parts := newWorld(t, uint64(seed)).halves(n); parts != 1 {
					t.Errorf("seed %d: %d nodes are in %d parts", seed, n-n/2, parts)
					cut++
				}
			}
			t.Logf("%d of %d runs with %d nodes are cut", cut, runs, n)
		})
	}
}

// proofs are worlds in which something falls if a rule is left out, and what it is.
var proofs = map[string]func(*world) string{
	"halves":    (*world).halved,
	"crowded":   (*world).crowded,
	"drained":   (*world).drained,
	"conserved": (*world).conserved,
	"silent":    (*world).silent,
	"healed":    (*world).healed,
	"rolled":    (*world).rolled,
}

// Nothing falls in any of them (B23). The laboratory leaves rules out, and runs this again.
func TestProofs(t *testing.T) {
	t.Parallel()
	for name, proof := range proofs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(2) {
				if found := proof(newWorld(t, seed)); found != "" {
					t.Errorf("seed %d: %s", seed, found)
				}
			}
		})
	}
}

// What the world alone can break makes something fall (B23).
func TestTheWorldBreaks(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*world){
		"rolled":  func(w *world) { w.alike = true },
		"crowded": func(w *world) { w.curt = true },
	} {
		w := newWorld(t, 0)
		spoil(w)
		if proofs[name](w) == "" {
			t.Errorf("nothing falls in %s", name)
		}
	}
}

func (w *world) halved() string {
	if parts := w.halves(20); parts != 1 {
		return fmt.Sprintf("after half a crash there are %d parts", parts)
	}
	return ""
}

// crowded fills the only contact of a hundred newcomers with connections that say nothing. All of them are connected with others
// before their next second (B23).
func (w *world) crowded() string {
	w.build(20, 100*time.Millisecond)
	w.run(10 * time.Second)
	a := w.nodes[0]
	for i := range 2 * MostPeers {
		n := &node{name: fmt.Sprint("silent", i), dead: true}
		w.by[n.name], a.up[n] = n, true
		w.feed(a, Up{Peer: n.name})
	}
	var all []*node
	for i := range 100 {
		all = append(all, w.start(fmt.Sprint("new", i), a))
		w.feed(all[i], Tick{})
	}
	w.run(700 * time.Millisecond)
	alone := 0
	for _, n := range all {
		if len(n.live) == 0 {
			alone++
		}
	}
	if alone > 0 {
		return fmt.Sprintf("%d of %d newcomers have nobody", alone, len(all))
	}
	return ""
}

// drained starts one node of twenty again every twelve seconds, for forty minutes (B23).
func (w *world) drained() string {
	w.build(20, 2*time.Second)
	w.run(20 * time.Second)
	before := w.mean()
	o := w.nodes[19]
	for range 200 {
		w.stop(o, 10*time.Millisecond, 200*time.Millisecond)
		w.run(time.Millisecond)
		w.start(o.name, w.nodes[:3]...)
		w.run(12 * time.Second)
	}
	if after := w.mean(); 3*after < before {
		return fmt.Sprintf("of %.2f arcs of a view %.2f are left", before, after)
	}
	return ""
}

// settled lets time pass until no exchange is under way, and returns the number of arcs.
func (w *world) settled() int {
	for range 1000 {
		w.run(100 * time.Millisecond)
		if !slices.ContainsFunc(w.alive(), func(n *node) bool { return n.m.flight != nil }) {
			return w.arcs()
		}
	}
	w.t.Fatal("exchanges never end")
	return 0
}

// conserved counts arcs before and after many exchanges, while messages are lost and doubled.
func (w *world) conserved() string {
	w.build(16, 2*time.Second)
	before := w.settled()
	w.loss, w.double = 0.1, 0.2
	w.run(300 * time.Second)
	w.loss, w.double = 0, 0
	if after := w.settled(); after != before {
		return fmt.Sprintf("of %d arcs %d are left", before, after)
	}
	return ""
}

// silent loses everything for two minutes, while the connections stay.
func (w *world) silent() string {
	w.build(16, 2*time.Second)
	before := w.settled()
	w.loss = 1
	w.run(120 * time.Second)
	w.loss = 0
	// An exchange whose answer alone was lost changes the number by the difference of the halves.
	if after := w.settled(); after < before-3 {
		return fmt.Sprintf("of %d arcs %d are left", before, after)
	}
	return ""
}

// healed cuts the network in two for two minutes.
func (w *world) healed() string {
	w.build(30, time.Second)
	w.run(30 * time.Second)
	for i, n := range w.nodes {
		n.side = i % 3 / 2
	}
	w.cut = func(a, b *node) bool { return a.side != b.side }
	for _, a := range w.nodes {
		for _, b := range w.nodes {
			w.after(4*time.Second+w.delay(), func() { w.lose(a, b) })
		}
	}
	w.run(120 * time.Second)
	if parts := w.parts(); parts != 2 {
		return fmt.Sprintf("there are %d parts while the network has two", parts)
	}
	w.cut = nil
	w.run(60 * time.Second)
	if parts := w.parts(); parts != 1 {
		return fmt.Sprintf("a minute after the cut there are %d parts", parts)
	}
	return ""
}

// rolled restarts each node three times, so quickly that others connect again before they give it up.
func (w *world) rolled() string {
	before, after := w.roll()
	if after > before+36 {
		return fmt.Sprintf("%d arcs have become %d", before, after)
	}
	if parts := w.parts(); parts != 1 {
		return fmt.Sprintf("there are %d parts", parts)
	}
	return ""
}

// roll returns the number of arcs of twenty nodes, before each is restarted three times and after.
func (w *world) roll() (before, after int) {
	w.build(20, 2*time.Second)
	w.run(10 * time.Second)
	before = w.settled()
	for i := range 3 * len(w.nodes) {
		n := w.nodes[i%len(w.nodes)]
		w.stop(n, 10*time.Millisecond, 200*time.Millisecond)
		w.run(time.Millisecond)
		w.start(n.name, w.nodes[(i+1+w.rng.IntN(len(w.nodes)-1))%len(w.nodes)])
		w.run(12 * time.Second)
	}
	return before, w.settled()
}

// Views neither grow nor shrink when all nodes are restarted again and again (B23).
func TestRollingRestarts(t *testing.T) {
	long(t)
	t.Parallel()
	drift, runs := 0, 8 // fewer are chance
	if nightly() {
		runs = 200
	}
	for seed := range uint64(runs) {
		before, after := newWorld(t, seed).roll()
		drift += after - before
	}
	if per := float64(drift) / float64(runs) / 20; math.Abs(per) > 0.5 {
		t.Errorf("after three restarts of each node a view has %+.2f arcs", per)
	}
}

// Five hundred nodes, each of which starts again within five minutes, as at an upgrade: the overlay stays in one piece, and views
// keep their size (B23).
func TestHundredsRestart(t *testing.T) {
	long(t)
	t.Parallel()
	const n = 500
	w := newWorld(t, 1)
	w.build(n, 200*time.Millisecond)
	w.run(60 * time.Second)
	before := w.mean()
	for i, at := range w.rng.Perm(n) {
		o := w.nodes[at]
		w.stop(o, 10*time.Millisecond, 200*time.Millisecond)
		w.run(500 * time.Millisecond)
		w.start(o.name, slices.DeleteFunc(slices.Clone(w.nodes[:4]), func(c *node) bool { return c.name == o.name })...)
		if i%50 == 0 {
			w.run(5 * time.Second)
			if parts := w.parts(); parts != 1 {
				t.Errorf("after %d restarts there are %d parts", i+1, parts)
			}
		}
	}
	w.run(60 * time.Second)
	after, parts := w.mean(), w.parts()
	t.Logf("views had %.2f arcs, and have %.2f; by their number it would be %.2f", before, after, harmonic(n)-0.5)
	if parts != 1 || math.Abs(after-before) > 1 {
		t.Errorf("after all have started again there are %d parts, and views have %.2f arcs, before %.2f", parts, after, before)
	}
}

// Half of the nodes leave, and as many come back: views follow their number, and nobody is left out (B23).
func TestLeaveAndRejoin(t *testing.T) {
	long(t)
	t.Parallel()
	const n, runs = 40, 10
	left, back := 0.0, 0.0
	for seed := range uint64(runs) {
		w := newWorld(t, seed)
		w.build(n, 2*time.Second)
		w.run(20 * time.Second)
		for _, at := range w.rng.Perm(n)[:n/2] {
			gone := w.nodes[at]
			w.feed(gone, Leave{})
			gone.dead = true
			w.run(2 * time.Second)
		}
		w.run(20 * time.Second)
		if parts := w.parts(); parts != 1 {
			t.Errorf("seed %d: when half have left there are %d parts", seed, parts)
		}
		for _, o := range w.alive() {
			for name := range o.live {
				if w.by[name].dead {
					t.Errorf("seed %d: %s still has %s, which has left", seed, o.name, name)
				}
			}
		}
		left += w.mean() / runs
		for _, gone := range w.nodes {
			if alive := w.alive(); gone.dead {
				w.start(gone.name, alive[w.rng.IntN(len(alive))])
				w.run(2 * time.Second)
			}
		}
		w.run(20 * time.Second)
		if parts := w.parts(); parts != 1 {
			t.Errorf("seed %d: when all are back there are %d parts", seed, parts)
		}
		back += w.mean() / runs
	}
	if want := harmonic(n/2) - 0.5; math.Abs(left-want) > 0.5 {
		t.Errorf("when half have left views have %.2f arcs, want %.2f", left, want)
	}
	if want := harmonic(n) - 0.5; math.Abs(back-want) > 0.5 {
		t.Errorf("when all are back views have %.2f arcs, want %.2f", back, want)
	}
}

// Few nodes are a full mesh, without knowing that they are few (B23). Up to six, all know all.
func TestFewNodesAreAMesh(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 6; n++ {
		for seed := range uint64(10) {
			w := newWorld(t, seed)
			w.build(n, time.Second)
			w.run(120 * time.Second)
			for _, o := range w.nodes {
				if len(o.live) != n-1 || len(o.m.Neighbours()) != n-1 {
					t.Errorf("seed %d: of %d nodes %s has the neighbours %v", seed, n, o.name, o.m.Neighbours())
				}
			}
		}
	}
}

// No node has many times the connections of others, and none has less than the floor (B23).
func TestDegreesAreEven(t *testing.T) {
	t.Parallel()
	for seed := range uint64(seeds(2, 40)) {
		w := newWorld(t, seed)
		// All join by the same two nodes, within ten seconds.
		a := w.start("a")
		b := w.start("b", a)
		for i := range 98 {
			w.start(fmt.Sprint("n", i), a, b)
			w.run(100 * time.Millisecond)
		}
		w.run(60 * time.Second)
		least, most, sum := len(w.nodes), 0, 0
		for _, n := range w.nodes {
			least, most, sum = min(least, len(n.live)), max(most, len(n.live)), sum+len(n.live)
		}
		mean := float64(sum) / float64(len(w.nodes))
		if least < 5 || float64(most) > 2.5*mean {
			t.Errorf("seed %d: from %d to %d neighbours, %.1f on average", seed, least, most, mean)
		}
		if w.parts() != 1 {
			t.Errorf("seed %d: %d parts", seed, w.parts())
		}
	}
}

// What a node costs at rest, as the package's text has it.
func TestCost(t *testing.T) {
	long(t)
	t.Parallel()
	for n, most := range map[int][2]float64{10: {1.6, 0.2}, 100: {2.6, 0.5}} {
		w := newWorld(t, 1)
		w.build(n, time.Second)
		w.run(60 * time.Second)
		w.messages, w.dials = 0, 0
		w.run(200 * time.Second)
		per := 200 * float64(n)
		messages, dials := float64(w.messages)/per, float64(w.dials)/per
		t.Logf("%d nodes: %.2f messages and %.2f connections a second for each", n, messages, dials)
		if messages > most[0] || dials > most[1] {
			t.Errorf("%d nodes: %.2f messages and %.2f connections a second for each, want %v at most", n, messages, dials, most)
		}
		if len(w.refused) > 0 {
			t.Errorf("%d nodes refuse %v", n, w.refused)
		}
	}
}

// The same inputs and the same seed cause the same actions: nothing else is read.
func TestTheSameSeedIsTheSameRun(t *testing.T) {
	t.Parallel()
	run := func() string {
		w := newWorld(t, 5)
		w.loss, w.double = 0.1, 0.1
		w.build(20, time.Second)
		w.run(60 * time.Second)
		out := fmt.Sprintln(w.messages, w.dials, w.refused)
		for _, n := range w.nodes {
			out += fmt.Sprintln(n.m.view, n.m.Snapshot())
		}
		return out
	}
	if one, two := run(), run(); one != two {
		t.Errorf("one run ends with\n%s\nand the same one with\n%s", one, two)
	}
}

// Two clusters that have started apart, since the contacts of some did not know those of others, become one: each node
// looks at its contacts from time to time.
func TestTwoStartsBecomeOne(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		w := newWorld(t, seed)
		a, c := w.start("a"), w.start("c")
		for i := range 8 {
			w.start(fmt.Sprint("b", i), a)
			w.start(fmt.Sprint("d", i), c)
			w.run(time.Second)
		}
		w.run(60 * time.Second)
		if parts := w.parts(); parts != 2 {
			t.Fatalf("seed %d: %d parts, and two have started", seed, parts)
		}
		w.start("e", a, c) // joins by one of them, and knows the other one
		w.run(200 * time.Second)
		if parts := w.parts(); parts != 1 {
			t.Errorf("seed %d: %d parts when a node has a contact in each", seed, parts)
		}
	}
}
