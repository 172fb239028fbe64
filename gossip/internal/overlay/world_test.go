package overlay

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// world is a network of machines. Connections take time, break and are refused; messages are late, and in a world with
// faults lost, doubled and out of order. The same seed gives the same run.
type world struct {
	t     testing.TB
	rng   *rand.Rand
	now   time.Duration
	queue events
	count uint64
	nodes []*node
	by    map[string]*node

	alike  bool // each start of a node looks like the one before
	curt   bool // a peer for which there is no room hears nothing
	every  int  // of the machines; 0: their default
	loss   float64
	double float64
	cut    func(a, b *node) bool

	messages int // sent
	dials    int
	refused  map[Why]int
}

// node is a machine and its connections.
type node struct {
	name  string
	side  int // of a cut
	m     *Machine
	up    map[*node]bool // connections, and which were dialled and are not there
	live  map[string]bool
	dead  bool
	birth int // number of starts
}

type happening struct {
	at  time.Duration
	seq uint64
	run func()
}

type events []happening

func (e *events) Len() int { return len(*e) }
func (e *events) Less(i, j int) bool {
	a, b := (*e)[i], (*e)[j]
	return a.at < b.at || a.at == b.at && a.seq < b.seq
}
func (e *events) Swap(i, j int) { (*e)[i], (*e)[j] = (*e)[j], (*e)[i] }
func (e *events) Push(x any)    { *e = append(*e, x.(happening)) }
func (e *events) Pop() any {
	old := *e
	last := old[len(old)-1]
	*e = old[:len(old)-1]
	return last
}

func newWorld(t testing.TB, seed uint64) *world {
	return &world{t: t, rng: rand.New(rand.NewPCG(seed, 24)), by: map[string]*node{}, refused: map[Why]int{}}
}

func (w *world) after(d time.Duration, run func()) {
	w.count++
	heap.Push(&w.queue, happening{at: w.now + d, seq: w.count, run: run})
}

// run lets time pass.
func (w *world) run(d time.Duration) {
	end := w.now + d
	for len(w.queue) > 0 && w.queue[0].at <= end {
		next := heap.Pop(&w.queue).(happening)
		w.now = next.at
		next.run()
	}
	w.now = end
}

// delay is the way of a message.
func (w *world) delay() time.Duration {
	return time.Millisecond + time.Duration(w.rng.Int64N(int64(49*time.Millisecond)))
}

// start adds a node that joins by these contacts, or starts one again that is dead.
func (w *world) start(name string, contacts ...*node) *node {
	n := w.by[name]
	if n == nil {
		n = &node{name: name}
		w.by[name] = n
		w.nodes = append(w.nodes, n)
	}
	n.dead, n.up, n.live = false, map[*node]bool{}, map[string]bool{}
	n.birth++
	c := Config{Self: Peer{Name: name}, Incarnation: w.rng.Uint64() | 1, Seed: w.rng.Uint64(), every: w.every}
	for _, by := range contacts {
		c.Contacts = append(c.Contacts, Peer{Name: by.name})
	}
	if w.alike {
		c.Incarnation = 1
	}
	if err := c.Validate(); err != nil {
		w.t.Fatal(err)
	}
	n.m = New(c)
	w.beat(n, n.birth)
	return n
}

// beat feeds a node's Ticks, a second apart give or take a fifth.
func (w *world) beat(n *node, birth int) {
	w.after(800*time.Millisecond+time.Duration(w.rng.Int64N(int64(400*time.Millisecond))), func() {
		if n.dead || n.birth != birth {
			return
		}
		w.feed(n, Tick{})
		w.beat(n, birth)
	})
}

// build starts n nodes, one after the other, each with a contact drawn from those before it.
func (w *world) build(n int, apart time.Duration) {
	for i := range n {
		var contacts []*node
		if i > 0 {
			contacts = []*node{w.nodes[w.rng.IntN(i)]}
		}
		w.start(fmt.Sprintf("n%d", i), contacts...)
		w.run(apart)
	}
}

// crash stops a node's machine at once. Its peers notice that four or five seconds later.
func (w *world) crash(n *node) { w.stop(n, 4*time.Second, 5*time.Second) }

// stop ends a node. Its peers notice that after some time.
func (w *world) stop(n *node, least, most time.Duration) {
	n.dead = true
	for _, o := range w.nodes {
		if o.up[n] {
			w.after(least+time.Duration(w.rng.Int64N(int64(most-least))), func() { w.lose(o, n) })
		}
	}
}

// lose ends a connection as one side sees it.
func (w *world) lose(n, to *node) {
	if !n.dead && n.up[to] && (to.dead || !to.up[n] || w.isCut(n, to)) {
		delete(n.up, to)
		w.feed(n, Down{Peer: to.name})
	}
}

func (w *world) isCut(a, b *node) bool { return w.cut != nil && w.cut(a, b) }

func (w *world) feed(n *node, in Input) {
	out := n.m.Step(in)
	for i, a := range out {
		if s, is := a.(Send); is && w.curt && i > 0 && out[i-1] == (Refused{From: s.To, Why: Crowded}) {
			a = Disconnect{Peer: s.To}
		}
		w.perform(n, a)
	}
}

func (w *world) perform(n *node, a Action) {
	switch a := a.(type) {
	case Connect:
		w.dials++
		w.dial(n, w.by[a.Peer.Name], a.Peer.Name)
	case Disconnect:
		to := w.by[a.Peer]
		if to != nil && n.up[to] {
			delete(n.up, to)
			w.after(w.delay(), func() { w.lose(to, n) })
		}
	case Send:
		w.carry(n, w.by[a.To], a.Message)
	case Gained:
		if n.live[a.Peer] {
			w.t.Errorf("%s gained %s twice", n.name, a.Peer)
		}
		n.live[a.Peer] = true
	case Lost:
		if !n.live[a.Peer] {
			w.t.Errorf("%s lost %s, which was no neighbour", n.name, a.Peer)
		}
		delete(n.live, a.Peer)
	case Refused:
		w.refused[a.Why]++
	}
}

func (w *world) dial(n, to *node, name string) {
	birth := n.birth
	if to == nil || to.dead || w.isCut(n, to) {
		w.after(time.Second, func() {
			if !n.dead && n.birth == birth {
				w.feed(n, Down{Peer: name})
			}
		})
		return
	}
	w.after(2*w.delay(), func() {
		switch {
		case n.dead || n.birth != birth:
		case to.dead || w.isCut(n, to):
			w.feed(n, Down{Peer: name})
		default:
			n.up[to], to.up[n] = true, true
			w.feed(n, Up{Peer: name})
			w.feed(to, Up{Peer: n.name})
		}
	})
}

func (w *world) carry(n, to *node, msg Message) {
	w.messages++
	for range 1 + w.times(w.double) {
		if w.times(w.loss) > 0 {
			continue
		}
		w.after(w.delay(), func() {
			if !to.dead && to.up[n] && !w.isCut(n, to) {
				w.feed(to, Received{From: n.name, Message: msg})
			}
		})
	}
}

func (w *world) times(chance float64) int {
	if chance > 0 && w.rng.Float64() < chance {
		return 1
	}
	return 0
}

func (w *world) alive() (out []*node) {
	for _, n := range w.nodes {
		if !n.dead {
			out = append(out, n)
		}
	}
	return out
}

// arcs is the number of all arcs, also of those in exchanges.
func (w *world) arcs() (n int) {
	for _, o := range w.alive() {
		s := o.m.Snapshot()
		n += s.Arcs + s.Given
	}
	return n
}

func (w *world) mean() float64 { return float64(w.arcs()) / float64(len(w.alive())) }

// parts is how many parts the living nodes are in, by who may send to whom.
func (w *world) parts() int {
	alive, seen, parts := w.alive(), map[*node]bool{}, 0
	for _, n := range alive {
		if seen[n] {
			continue
		}
		parts++
		seen[n] = true
		for todo := []*node{n}; len(todo) > 0; {
			at := todo[0]
			todo = todo[1:]
			for name := range at.live {
				if o := w.by[name]; !o.dead && !seen[o] && o.live[at.name] {
					seen[o] = true
					todo = append(todo, o)
				}
			}
		}
	}
	return parts
}

// harmonic is H_n.
func harmonic(n int) (h float64) {
	for i := 1; i <= n; i++ {
		h += 1 / float64(i)
	}
	return h
}
