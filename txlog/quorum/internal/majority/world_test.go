package majority

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"go.etcd.io/raft/v3"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
)

const round = 100 * time.Millisecond

// world is members that talk over a network which loses, repeats, delays and reorders, on disks that lose what was not
// synced. Everything in it follows from its seed.
type world struct {
	t       testing.TB
	rand    *rand.Rand
	now     time.Duration // of nobody's clock
	events  events
	nodes   []*node
	genesis txlog.Genesis
	loss    float64
	twice   float64
	slow    time.Duration // the longest delay of a message
	far     time.Duration // the least that it takes to fetch records
	cut     func(from, to string) bool
	change  func(*raft.Config)
	early   bool // doors open at once
	keep    uint64
	crashes float64 // of a step
	most    int     // goals that a leader has in flight
	traced  bool
	trace   []string
	each    func() // after each event; nil: nothing
	judge
}

// judge watches what must never be.
type judge struct {
	committed []txlog.Record // the first is at index 1
	leaders   map[uint64]string
	doors     []opened
	facts     map[string]int
	failed    int
	reads     []authority.Confirmed
	refusals  []authority.Refused
	messages  int
	dropped   int // times that a leader has dropped what it had proposed
}

// opened is when an act door was open, in the world's time.
type opened struct {
	who         string
	term        uint64
	opens, ends time.Duration
}

type node struct {
	last    bool // Config.Last
	world   *world
	name    string
	store   uint64
	disk    *Memory
	m       *Machine
	rate    float64 // of its clock
	birth   time.Duration
	life    int
	door    Door
	first   time.Duration // its term began, by its own clock
	toy     toy
	told    func(authority.Fact) // plays the user, instead of the toy
	paused  bool
	refused []Refusal
	term    uint64 // the newest that it has told
	leader  string
}

// toy is a member that executes nothing and appends records that follow each other.
type toy struct {
	log       []txlog.Record // the first is at index 1
	committed uint64
	leads     uint64 // the term; 0: it does not
	opening   uint64
	executed  []txlog.Record // made on top of log
	goals     int
	mute      bool // it appends nothing
	look      func([]txlog.Record) error
}

type event struct {
	at  time.Duration
	n   int
	run func()
}

type events struct {
	all []event
	n   int
}

func (e *events) Len() int { return len(e.all) }
func (e *events) Less(i, j int) bool {
	return e.all[i].at < e.all[j].at || e.all[i].at == e.all[j].at && e.all[i].n < e.all[j].n
}
func (e *events) Swap(i, j int) { e.all[i], e.all[j] = e.all[j], e.all[i] }
func (e *events) Push(x any)    { e.all = append(e.all, x.(event)) }
func (e *events) Pop() any {
	last := e.all[len(e.all)-1]
	e.all = e.all[:len(e.all)-1]
	return last
}

func newWorld(t testing.TB, seed uint64, members int) *world {
	w := &world{
		t: t, rand: rand.New(rand.NewPCG(seed, 17)), slow: 20 * time.Millisecond, most: 4, cut: func(string, string) bool { return false },
		change: func(*raft.Config) {}, judge: judge{leaders: map[uint64]string{}, facts: map[string]int{}},
	}
	w.genesis = txlog.Genesis{Namespace: "n", Machine: "toy/1"}.With()
	for i := range members {
		w.genesis.Members = append(w.genesis.Members, txlog.Member{Name: string(rune('a' + i)), Key: txlog.Hash{byte(i + 1)}, Store: uint64(100 + i)})
	}
	for _, m := range w.genesis.Members {
		w.add(m.Name, m.Store)
	}
	return w
}

// add starts a node with an empty store.
func (w *world) add(name string, store uint64) *node {
	n := &node{world: w, name: name, store: store, rate: 0.98 + 0.04*w.rand.Float64(), birth: time.Duration(w.rand.Int64N(int64(time.Hour)))}
	n.disk = NewMemory(Fresh(w.genesis))
	w.nodes = append(w.nodes, n)
	n.start()
	return n
}

func (w *world) after(d time.Duration, run func()) {
	w.events.n++
	heap.Push(&w.events, event{at: w.now + d, n: w.events.n, run: run})
}

func (w *world) run(d time.Duration) {
	for end := w.now + d; w.events.Len() > 0; {
		if w.events.all[0].at > end {
			w.now = end
			return
		}
		e := heap.Pop(&w.events).(event)
		w.now = e.at
		if e.run(); w.each != nil {
			w.each()
		}
	}
}

// until runs until something is, and fails the test if that takes longer than so many rounds.
func (w *world) until(rounds int, what string, is func() bool) (took time.Duration) {
	w.t.Helper()
	from := w.now
	for !is() {
		if w.now-from > time.Duration(rounds)*round {
			w.t.Fatalf("not within %d rounds: %s\n%s", rounds, what, w.describe())
		}
		w.run(round / 20)
	}
	return w.now - from
}

func (w *world) describe() (text string) {
	for _, n := range w.nodes {
		if n.m != nil {
			s := n.m.Snapshot()
			text += fmt.Sprintf("%s/%d: term %d, leader %q, leading %v, committed %d, stored %d, tries %d; %v\n", n.name, n.store, s.Term, s.Leader, s.Leading, s.Committed.Index, s.Stored, n.m.pace.tries, n.refused)
		}
	}
	return text
}

func (w *world) node(name string) *node {
	i := slices.IndexFunc(w.nodes, func(n *node) bool { return n.name == name })
	return w.nodes[i]
}

// leader returns the node that leads in the highest term.
func (w *world) leader() (leader *node) {
	for _, n := range w.nodes {
		if n.m != nil && !n.paused && n.toy.leads > 0 && (leader == nil || n.toy.leads > leader.toy.leads) {
			leader = n
		}
	}
	return leader
}

// apart cuts some nodes off from all others.
func (w *world) apart(names ...string) {
	w.cut = func(from, to string) bool { return slices.Contains(names, from) != slices.Contains(names, to) }
}

func (w *world) heal() { w.cut = func(string, string) bool { return false } }

func (n *node) clock() time.Duration { return n.birth + time.Duration(float64(n.world.now)*n.rate) }

// real returns the world's time at an instant of the node's clock.
func (n *node) real(at time.Duration) time.Duration {
	return time.Duration(float64(at-n.birth) / n.rate)
}

func (n *node) start() {
	w := n.world
	stored, _ := n.disk.Load()
	tail, err := stored.Tail()
	if err != nil {
		w.t.Fatal(err)
	}
	records := n.disk.Kept().Records
	n.toy = toy{log: append(slices.Clone(records), tail...), committed: uint64(len(records)), look: n.toy.look}
	c := Config{
		Self: n.name, Store: n.store, Log: w.genesis.ID(), Stored: stored, Have: uint64(len(records)), Lease: 3 * time.Second, Seed: uint64(n.name[0]),
		Look: n.looks, Last: n.last, Keep: w.keep,
	}
	if err := c.Validate(); err != nil {
		w.t.Fatal(err)
	}
	if n.m, err = newMachine(c, w.change); err != nil {
		w.t.Fatalf("%s: %v", n.name, err)
	}
	n.life++
	w.after(time.Duration(w.rand.Int64N(int64(round))), n.ticks(n.life))
}

func (n *node) ticks(life int) func() {
	return func() {
		if n.life != life || n.m == nil {
			return
		}
		n.world.after(time.Duration(float64(round)/n.rate), n.ticks(life))
		if !n.paused {
			n.step(Tick{})
			n.works()
		}
	}
}

func (n *node) crash() {
	n.m = nil
	n.life++
	n.shut()
	n.disk.Crash()
}

// shut ends an open door.
func (n *node) shut() {
	if d := n.opened(); d.opens < d.ends {
		n.world.doors = append(n.world.doors, d)
	}
	n.door = Door{}
}

// opened is the time for which its door has been open, if it has one.
func (n *node) opened() opened {
	if n.door.Term == 0 {
		return opened{}
	}
	return opened{who: n.name, term: n.door.Term, opens: n.real(n.door.Opens), ends: min(n.real(n.door.Until), n.world.now)}
}
