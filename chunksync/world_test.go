package chunksync

import (
	"container/heap"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/runtest"
)

var (
	worlds = flag.Int("worlds", 400, "number of seeds that TestWorlds runs")
	seed   = flag.Uint64("seed", 0, "the only seed to run")
)

// S22: thousands of small worlds with kills, partitions, lost, late and duplicated messages,
// rotting chunks, and several leaders at a time. After each step: a node shows only complete
// catalogs that a leader made; versions never go back; each acknowledged write is in every
// later leader's catalog. After healing, all nodes hold the same.
func TestWorlds(t *testing.T) {
	t.Parallel()
	var sum world
	first, last := uint64(1), uint64(*worlds)
	if runtest.Nightly() {
		last *= 50
	}
	if testing.Short() || !runtest.Whole() {
		last /= 3
	}
	if *seed != 0 {
		first, last = *seed, *seed
	}
	for s := first; s <= last; s++ {
		w := newWorld(s)
		w.run()
		if w.fault != "" {
			t.Fatalf("%s\nreplay: go test ./chunksync -run TestWorlds -seed %d", w.fault, s)
		}
		sum.acks, sum.refusals, sum.found, sum.kills = sum.acks+w.acks, sum.refusals+w.refusals, sum.found+w.found, sum.kills+w.kills
		sum.changes, sum.passed = sum.changes+w.changes, sum.passed+w.passed
		sum.counted, sum.repairs, sum.hopeless = sum.counted+w.counted, sum.repairs+w.repairs, sum.hopeless+w.hopeless
	}
	t.Logf("%d writes acknowledged, %d requests of stale leaders refused, %d catalogs adopted from a peer, %d kills", sum.acks, sum.refusals, sum.found, sum.kills)
	t.Logf("%d chunks repaired, %d takeovers that needed the answer of a damaged node, %d worlds that no node can lead any more", sum.repairs, sum.counted, sum.hopeless)
	t.Logf("%d changes offered, %d of them to a node that had some of it", sum.changes, sum.passed)
	few := int(last) / 50
	if *seed == 0 && (min(sum.acks, sum.refusals, sum.found, sum.kills, sum.repairs, sum.changes) < 25*few || min(sum.counted, sum.passed) < few) {
		t.Errorf("too few events of some kind, these worlds are blind: want %d of each kind and %d takeovers that count", 25*few, few)
	}
	if *seed == 0 && sum.hopeless > int(last)/8 {
		t.Errorf("%d of %d worlds end without a node that can lead, want an eighth at most", sum.hopeless, last)
	}
}

type world struct {
	rng    *rand.Rand
	now    fence.Instant
	queue  events
	count  int // events so far, so that no two share an instant
	copies int
	nodes  []*worldNode
	epoch  int64
	healed bool
	cut    map[[2]int]bool
	made   map[Version]catalog // each catalog that a leader made
	begun  map[int64]catalog   // the first catalog of each epoch
	acked  map[string]int64    // acknowledged files, with their epoch
	gone   map[string]struct{} // files that may have been removed
	names  int
	fault  string

	acks, refusals, found, kills int
	counted, repairs, hopeless   int
	changes, passed              int // offered changes, and those of catalogs that the node had passed
}

// worldNode is a node. The fields from up on die with its process.
type worldNode struct {
	w       *world
	id      int
	promise promise
	catalog catalog
	have    map[Hash]struct{}
	rotten  map[Hash]struct{} // chunks that have ever rotted

	up      bool
	life    int
	offered map[Hash]struct{}
	leads   []*worldLeader // several if it was elected again before it knew its end
}

// worldLeader is one leadership of a node.
type worldLeader struct {
	n       *worldNode
	life    int
	tenure  Tenure
	m       *machine
	sending map[string]catalog
	waiting map[string]Version
	over    bool
}

type event struct {
	at fence.Instant
	do func()
}

type events []event

func (e *events) Len() int           { return len(*e) }
func (e *events) Less(i, j int) bool { return (*e)[i].at < (*e)[j].at }
func (e *events) Swap(i, j int)      { (*e)[i], (*e)[j] = (*e)[j], (*e)[i] }
func (e *events) Push(x any)         { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	last := old[len(old)-1]
	*e = old[:len(old)-1]
	return last
}

func newWorld(s uint64) *world {
	w := &world{
		rng: rand.New(rand.NewPCG(s, 7)), cut: map[[2]int]bool{}, made: map[Version]catalog{}, begun: map[int64]catalog{},
		acked: map[string]int64{}, gone: map[string]struct{}{},
	}
	for id := range 1 + w.rng.IntN(5) {
		w.nodes = append(w.nodes, &worldNode{w: w, id: id, have: map[Hash]struct{}{}, rotten: map[Hash]struct{}{}, up: true})
	}
	w.copies = w.rng.IntN(len(w.nodes))
	return w
}

// with returns the tenure's next catalog, with the file put or, if f is nil, removed.
func (c catalog) with(name string, f *File) catalog { return c.after(c.write(name, f)) }

func (c catalog) chunks() map[Hash]struct{} {
	all := map[Hash]struct{}{}
	for _, f := range c.Files {
		for _, h := range f.Chunks {
			all[h] = struct{}{}
		}
	}
	return all
}

func (c catalog) names() []string { return slices.Sorted(maps.Keys(c.Files)) }

func (c catalog) sameAs(o catalog) bool {
	return c.Tenure == o.Tenure && c.Seq == o.Seq && maps.EqualFunc(c.Files, o.Files, File.same)
}

func (w *world) after(d time.Duration, do func()) {
	w.count++
	heap.Push(&w.queue, event{w.now.Add(d) + fence.Instant(w.count), do})
}

func (w *world) some(most time.Duration) time.Duration {
	return time.Duration(w.rng.Int64N(int64(most))) + 1
}

func (w *world) chance(percent int) bool { return !w.healed && w.rng.IntN(100) < percent }

func (w *world) wrong(format string, args ...any) {
	if w.fault == "" {
		w.fault = fmt.Sprintf("at %s: ", time.Duration(w.now)) + fmt.Sprintf(format, args...)
	}
}

const (
	stormy  = 8 * time.Second
	healing = 10 * time.Second
)

func (w *world) run() {
	w.after(1, w.elect)
	w.after(w.some(time.Second), w.trouble)
	w.after(w.some(time.Second), w.write)
	w.after(stormy, w.heal)
	end := fence.Instant(stormy + healing)
	for len(w.queue) > 0 && w.fault == "" {
		e := heap.Pop(&w.queue).(event)
		if e.at > end {
			break
		}
		w.now = e.at
		e.do()
	}
	if w.fault == "" && w.hopeless == 0 {
		w.converged()
	}
}

// elect makes a random node a leader, and tells no earlier leader.
func (w *world) elect() {
	if w.healed {
		return
	}
	if n := w.nodes[w.rng.IntN(len(w.nodes))]; n.up {
		n.lead()
	}
	w.after(w.some(2*time.Second), w.elect)
}

func (w *world) trouble() {
	if w.healed {
		return
	}
	n := w.nodes[w.rng.IntN(len(w.nodes))]
	switch {
	case !n.up:
		n.up = true
	case w.chance(50):
		w.kills++
		n.up = false
		n.life++
		n.offered, n.leads = nil, nil
	case w.chance(20):
		n.rot()
	default:
		line := [2]int{n.id, w.rng.IntN(len(w.nodes))}
		w.cut[line] = !w.cut[line]
	}
	w.after(w.some(600*time.Millisecond), w.trouble)
}

func (w *world) heal() {
	w.healed = true
	clear(w.cut)
	for _, n := range w.nodes {
		n.up = true
	}
	if able := w.able(); len(able) > 0 {
		able[w.rng.IntN(len(able))].lead()
	} else {
		w.hopeless = 1
	}
}

// able returns the nodes that can lead once all connections work: the intact ones, if enough
// others are intact or an intact one holds the newest version.
func (w *world) able() (whole []*worldNode) {
	var newest, damaged Version
	for _, n := range w.nodes {
		at := &damaged
		if n.whole(n.catalog) {
			whole, at = append(whole, n), &newest
		}
		if n.promise.Held.Compare(*at) > 0 {
			*at = n.promise.Held
		}
	}
	need := settings{Peers: make([]string, len(w.nodes)-1), Copies: w.copies}.Need()
	if len(whole)-1 < need && damaged.Compare(newest) > 0 {
		return nil
	}
	return whole
}

func (w *world) converged() {
	leader := slices.MaxFunc(w.nodes, func(a, b *worldNode) int { return a.promise.Held.Compare(b.promise.Held) })
	for _, n := range w.nodes {
		if n.promise.Held != leader.promise.Held || n.promise.Held.Epoch != w.epoch {
			w.wrong("healed, and node %d holds %s instead of %s of epoch %d", n.id, n.promise.Held, leader.promise.Held, w.epoch)
		}
		if !n.whole(n.catalog) {
			w.wrong("healed, and node %d lacks some of what it holds", n.id)
		}
	}
}

// write lets each leader write something, also the deposed ones.
func (w *world) write() {
	for _, n := range w.nodes {
		for _, l := range slices.Clone(n.leads) {
			if !l.over && l.m.Leading() {
				l.write()
			}
		}
	}
	if w.now < fence.Instant(stormy+healing/2) {
		w.after(w.some(300*time.Millisecond), w.write)
	}
}

func (l *worldLeader) write() {
	w, n := l.n.w, l.n
	w.names++
	name := fmt.Sprint("f", w.names)
	f := File{}
	for i := range w.rng.IntN(4) {
		h := hashOf([]byte{byte(i), byte(w.rng.IntN(12)), byte(w.rng.IntN(2))}) // other files have some of them too
		f.Size += ChunkSize
		f.Chunks = append(f.Chunks, h)
	}
	next := n.catalog.with(name, &f)
	if known := slices.Sorted(maps.Keys(n.catalog.Files)); len(known) > 0 && w.chance(30) {
		name = known[w.rng.IntN(len(known))]
		next = n.catalog.with(name, nil)
		w.gone[name] = struct{}{}
	}
	if n.catalog.Tenure != l.tenure {
		l.step(deposed{})
		return
	}
	for _, h := range f.Chunks {
		n.have[h] = struct{}{}
	}
	switch missing, held, err := n.take(next); {
	case err != nil:
		l.step(deposed{})
	case len(missing) > 0:
		l.over = true // it resigns
	default:
		if _, there := next.Files[name]; there {
			l.waiting[name] = held
		}
		l.step(changed{held})
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
