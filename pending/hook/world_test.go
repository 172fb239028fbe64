package hook

import (
	"cmp"
	"container/heap"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/pending"
)

// worlds is how many are lived in a test.
func worlds() uint64 {
	if runtest.Whole() {
		return runtest.ByDay[uint64](500, 20000)
	}
	return 100
}

// C4.3, C4.4, C4.6: leaders die between a POST and its note, turns lose their answers, events become visible late, and receivers hang, refuse
// at times, refuse one intent for ever, or are away for hours or for ever. Every event is told once or more often or is dead, none comes after
// a later one of its intent, and what is in memory and among those that wait stays small.
func TestWorlds(t *testing.T) {
	t.Parallel()
	var told, again, died int
	for seed := range worlds() {
		w := newWorld(t, seed)
		w.live()
		if t.Failed() {
			t.Fatalf("the world %d: %v", seed, w.kind)
		}
		told, again, died = told+len(w.confirmed), again+w.repeats, died+w.dead()
	}
	if again == 0 || died == 0 {
		t.Errorf("%d told, %d of them again, %d dead: want some of each", told, again, died)
	}
	t.Logf("%d told, %d of them again, %d dead", told, again, died)
}

// The model of the review: 100 transactions a second for two minutes, of three events each; one call in a hundred hangs for ten seconds,
// and one transaction is always refused. Within three minutes all but a few of 36,000 are told, none of them out of turn.
func TestTheModelOfTheReview(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.kind, w.wanted = model, func(*Event) bool { return true }
	for i := range 12000 {
		intent := pending.ID{byte(i >> 8), byte(i)}
		at := time.Duration(i) * 10 * time.Millisecond
		for n := range 3 {
			w.in(at+time.Duration(n)*time.Second, func() { w.tell(intent, w.now+w.upTo(5*time.Millisecond), false) })
		}
	}
	w.in(0, w.lead)
	w.runs(func() bool { return w.now < 3*time.Minute })
	if n := len(w.confirmed); n < 35_900 || w.repeats > 0 || len(w.events) != 36_000 {
		t.Errorf("%d of %d are told, and %d twice", n, len(w.events), w.repeats)
	}
	t.Logf("%d of 36,000 are told", len(w.confirmed))
}

// A burst: each tenth of a second 100 transactions, whose four events follow one another as blocks have them: the next one is there before
// it is stored that the one before was confirmed. A POST takes a millisecond, a turn up to twelve. Without hurry each event would wait for a pause
// too, and the last one of a transaction for all of them.
func TestABurstIsToldInTime(t *testing.T) {
	t.Parallel()
	w := newBurst(t)
	for i := range 1000 {
		intent := pending.ID{byte(i >> 8), byte(i)}
		at := time.Duration(i/100) * 100 * time.Millisecond
		for n, after := range []time.Duration{0, 15 * time.Millisecond, 30 * time.Millisecond, 45 * time.Millisecond} {
			w.in(at+after, func() { w.tells(intent, backendKinds[n]) })
		}
	}
	w.finalsWithin(1000, 60*time.Millisecond)
}

// Blocks: each quarter of a second 850 transactions come into one, and in the same commit as many are final. A POST takes the processor for 80 µs, as all
// of them share it, so that a second has as many events as can be told in it. An end does not wait for what is in a block meanwhile: that alone
// would take 68 ms.
func TestAnEndIsToldBeforeOthers(t *testing.T) {
	t.Parallel()
	w := newBurst(t)
	w.cost = 80 * time.Microsecond
	const blocks, each, apart = 6, 850, 250 * time.Millisecond
	for b := range blocks {
		of := func(i int) pending.ID { return pending.ID{byte(b), byte(i >> 8), byte(i)} }
		for i := range each {
			at := time.Duration(b)*apart + time.Duration(i)*apart/each
			w.in(at, func() { w.tells(of(i), pending.ToldAccepted) })
			w.in(at+30*time.Millisecond, func() { w.tells(of(i), pending.ToldNonce) })
		}
		for after, kind := range map[int]pending.Kind{2: pending.ToldInBlock, 4: pending.ToldFinal} {
			w.in(time.Duration(b+after)*apart, func() {
				for i := range each {
					w.tells(of(i), kind)
				}
			})
		}
	}
	w.finalsWithin(blocks*each, 90*time.Millisecond)
}

// backendKinds is what a transaction is told of that nothing disturbs.
var backendKinds = []pending.Kind{pending.ToldAccepted, pending.ToldNonce, pending.ToldInBlock, pending.ToldFinal}

// newBurst returns a world in which one leader tells all.
func newBurst(t *testing.T) *world {
	w := newWorld(t, 1)
	w.kind, w.wanted = calm, func(*Event) bool { return true }
	return w
}

// tells draws an ID for an event of a kind, and commits it at once.
func (w *world) tells(intent pending.ID, kind pending.Kind) {
	w.tell(intent, w.now, false)
	w.events[len(w.events)-1].Kind = kind
}

// finalsWithin lives until all is told of many transactions, and compares how long each final state was in the rows before its POST left.
func (w *world) finalsWithin(many int, most time.Duration) {
	w.t.Helper()
	w.in(0, w.lead)
	w.runs(func() bool { return w.now < 5*time.Second })
	var late []time.Duration
	for _, e := range w.events {
		if e.Kind == pending.ToldFinal {
			late = append(late, w.toldAt[e.ID]+e.Age) // which is when it was committed, negative
		}
	}
	slices.Sort(late)
	p50, p99 := late[len(late)/2], late[len(late)*99/100]
	w.t.Logf("%d of %d told; final in the rows until its POST leaves: p50 %v, p99 %v", len(w.confirmed), len(w.events), p50, p99)
	if len(w.confirmed) != 4*many || len(late) != many || p99 > most {
		w.t.Errorf("%d are told, and p99 is %v; want %v at most", len(w.confirmed), p99, most)
	}
}

// What the receiver of a world does.
const (
	calm    = "calm"    // takes everything at once
	model   = "model"   // as hangs, and refuses one intent always
	hangs   = "hangs"   // one call in a hundred, for ten seconds
	refuses = "refuses" // one call in five
	poison  = "poison"  // one intent always, for an hour; the others are well
	away    = "away"    // for two hours
	gone    = "gone"    // for ever
)

type world struct {
	t    *testing.T
	rand *rand.Rand
	kind string
	now  time.Duration
	todo agenda
	n    int // of what was ever put on the agenda: what is due at the same time is done in this order

	events  []*Event                     // by ID, from 1 on
	visible map[int64]bool               // committed or undone
	undone  map[int64]bool               // that no event has
	last    map[pending.ID]time.Duration // when the newest event of an intent is committed

	wanted func(*Event) bool
	place  Place
	health Health
	rows   map[int64]*row
	puts   int64 // how many rows were put there by replays

	epoch     int // of the leader
	machine   *machine
	tail      int64
	given     map[int64]bool // that the tail has returned
	flying    int
	tickAt    time.Duration // of the next tick; 0: none is to come
	turnAway  bool
	newest    map[pending.ID]int64 // that the receiver has seen
	confirmed map[int64]bool
	toldAt    map[int64]time.Duration
	replayed  map[int64]bool // events that somebody wanted to be told again, in whichever order
	repeats   int
	most      int           // of rows that wait and were refused
	cost      time.Duration // of a POST, for the processor that all share; 0: they share none
	busy      time.Duration // until when that is taken
	ended     bool          // it was over when something was stored last
}

type row struct {
	Park

	at, due time.Duration
	put     time.Time
	waiting bool // behind another
}

type task struct {
	at time.Duration
	n  int
	do func()
}

type agenda []task //nolint:recvcheck // container/heap wants it so

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].n < a[j].n
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(task)) } //nolint:forcetypeassert // a heap of tasks
func (a *agenda) Pop() any {
	old := *a
	x := old[len(old)-1]
	*a = old[:len(old)-1]
	return x
}

func newWorld(t *testing.T, seed uint64) *world {
	kinds := []string{hangs, refuses, poison, away}
	w := &world{
		t: t, rand: rand.New(rand.NewPCG(seed, 1)), kind: kinds[seed%4], visible: map[int64]bool{}, undone: map[int64]bool{}, last: map[pending.ID]time.Duration{},
		wanted: wanted, rows: map[int64]*row{}, newest: map[pending.ID]int64{}, confirmed: map[int64]bool{},
		replayed: map[int64]bool{}, toldAt: map[int64]time.Duration{},
	}
	if seed%50 == 7 {
		w.kind = gone
	}
	return w
}

// wanted leaves some out, as receivers do.
func wanted(e *Event) bool { return e.ID%7 > 0 }

func (w *world) in(d time.Duration, do func()) {
	w.n++
	heap.Push(&w.todo, task{w.now + d, w.n, do})
}

func (w *world) upTo(most time.Duration) time.Duration {
	return time.Duration(w.rand.Int64N(int64(most)))
}

// live has something happen for two minutes, and then waits until all is told or dead.
func (w *world) live() {
	const span = 2 * time.Minute
	for range 30 { // bursts, of few intents each
		at, intents := w.upTo(span), []byte{byte(w.rand.IntN(40)), byte(w.rand.IntN(40))}
		for range 5 {
			w.in(at+w.upTo(300*time.Millisecond), func() { w.change(pending.ID{intents[w.rand.IntN(2)]}) })
		}
	}
	for range w.rand.IntN(6) {
		w.in(w.upTo(span), w.kill)
		w.in(w.upTo(span), w.replay)
	}
	w.in(0, w.lead)
	limit := map[string]time.Duration{gone: GiveUp + 2*time.Hour, away: 5 * time.Hour, poison: 5 * time.Hour, refuses: 24 * time.Hour, hangs: time.Hour}[w.kind]
	w.runs(func() bool { return w.now < limit && (w.now < span+time.Minute || !w.ended) })
	w.judge()
}

// runs has what is on the agenda happen, as long as that is so.
func (w *world) runs(on func() bool) {
	for len(w.todo) > 0 && !w.t.Failed() && on() {
		one := heap.Pop(&w.todo).(task) //nolint:forcetypeassert // a heap of tasks
		w.now = one.at
		one.do()
	}
}

// change draws an ID for an intent, one in ten for nothing, and commits it a little later, in the order of each intent.
func (w *world) change(intent pending.ID) {
	w.tell(intent, w.now+w.upTo([]time.Duration{50 * time.Millisecond, 2 * time.Second}[w.rand.IntN(2)]), w.rand.IntN(10) == 0)
}

// tell draws an ID, and commits it then, or undoes it.
func (w *world) tell(intent pending.ID, at time.Duration, undone bool) {
	e := &Event{ID: int64(len(w.events) + 1)}
	e.Intent, e.Version, e.Kind = intent, uint64(len(w.events)+1), pending.Kinds()[e.ID%8]
	w.events = append(w.events, e)
	at = max(at, w.last[intent]+1)
	w.last[intent] = at
	w.in(at-w.now, func() {
		w.visible[e.ID], w.undone[e.ID] = true, undone
		e.Age = -w.now // so that now + Age is its age
		if w.rand.IntN(3) > 0 {
			w.feed(w.epoch, woken{})
		}
	})
}

// over reports whether nothing is left to be told, and the place says so.
func (w *world) over() bool {
	if w.place.UpTo < int64(len(w.events)) {
		return false
	}
	for _, e := range w.events {
		if r := w.rows[e.ID]; w.wanted(e) && !w.undone[e.ID] && !w.confirmed[e.ID] && (r == nil || !r.Dead) {
			return false
		}
	}
	return true
}

func (w *world) dead() (n int) {
	for _, r := range w.rows {
		n += map[bool]int{true: 1}[r.Dead]
	}
	return n
}

func (w *world) judge() {
	if !w.ended {
		w.t.Errorf("after %v something is neither told nor dead: %d of %d told, %d rows", w.now, len(w.confirmed), len(w.events), len(w.rows))
	}
	if d := w.dead(); d > 0 && w.kind != gone {
		w.t.Errorf("%d are dead", d)
	}
	if w.kind == gone && w.now < GiveUp {
		w.t.Errorf("all are dead after %v", w.now)
	}
	if (w.kind == away || w.kind == gone) && w.most > 2*ailing {
		w.t.Errorf("%d refused rows waited at once for a receiver that is away", w.most)
	}
}

// lead begins a leader's term at the stored place.
func (w *world) lead() {
	w.epoch++
	h := w.health
	if h.Failures > 0 {
		h.For += w.now // stored as when it began, negative
	}
	w.machine = newMachine(w.now, Place{w.place.UpTo, slices.Clone(w.place.Beyond)}, h, w.wanted)
	w.tail, w.given, w.flying, w.turnAway, w.tickAt = w.place.UpTo, map[int64]bool{}, 0, false, 0
	w.feed(w.epoch, woken{})
}

// kill ends the leader, and another one comes after its lease.
func (w *world) kill() {
	w.epoch++
	w.machine = nil
	epoch := w.epoch
	w.in(time.Second+w.upTo(5*time.Second), func() {
		if w.epoch == epoch {
			w.lead()
		}
	})
}

// replay has an event told again that is done, also while its POST is under way, or confirmed and not noted.
func (w *world) replay() {
	for id := int64(len(w.events)); id > 0; id-- {
		done := id <= w.place.UpTo || ranges(w.place.Beyond).has(id)
		if e := w.events[id-1]; !done || !w.wanted(e) || w.undone[e.ID] || w.rows[id] == nil && w.rand.IntN(5) > 0 {
			continue
		}
		w.puts++
		again := &row{Park: Park{Again: Again{ID: id}, Intent: w.events[id-1].Intent}, at: w.now, due: w.now, put: time.Unix(w.puts, 0)}
		for other, r := range w.rows {
			again.waiting = again.waiting || !r.Dead && r.Intent == again.Intent && other < id
		}
		w.rows[id], w.replayed[id], w.ended = again, true, false
		delete(w.confirmed, id)
		w.feed(w.epoch, woken{})
		return
	}
}

// feed gives an input to the leader of an epoch, if it still leads, and does what it asks for.
func (w *world) feed(epoch int, in input) {
	if epoch != w.epoch || w.machine == nil {
		return
	}
	for _, a := range w.machine.Step(w.now, in) {
		switch a := a.(type) {
		case post:
			w.post(epoch, a)
		case turn:
			w.turn(epoch, Turn(a))
		}
	}
	if n := len(w.machine.open); n > window {
		w.t.Errorf("%d events in memory", n)
	}
	if w.machine.waits > again || w.machine.waits < 0 || w.machine.waits != len(w.machine.waiting()) {
		w.t.Errorf("%d of those that wait are counted in memory, and %v are there", w.machine.waits, w.machine.waiting())
	}
	w.tick(epoch)
}

// tick has the machine told of the time when it wants to be.
func (w *world) tick(epoch int) {
	at, is := w.machineDue(epoch)
	if at = max(at, w.now+time.Millisecond); !is || w.tickAt > w.now && w.tickAt <= at {
		return
	}
	w.tickAt = at
	w.in(at-w.now, func() {
		if w.tickAt != at || epoch != w.epoch {
			return // another one came before, or it is of a leader that is dead
		}
		w.tickAt = 0
		if due, is := w.machineDue(epoch); is && due <= w.now {
			w.feed(epoch, tick{})
		} else {
			w.tick(epoch)
		}
	})
}

func (w *world) machineDue(epoch int) (time.Duration, bool) {
	if epoch != w.epoch || w.machine == nil {
		return 0, false
	}
	return w.machine.Due()
}

// post has the receiver take an event, or not.
func (w *world) post(epoch int, p post) {
	if w.flying++; w.flying > Places || w.machine.ails() && w.flying > 1 && w.machine.posting == 1 {
		w.t.Errorf("%d POSTs are under way", w.flying)
	}
	e := p.event
	if newest := w.newest[e.Intent]; e.ID < newest && !w.replayed[e.ID] {
		w.t.Errorf("%d of %v comes after %d", e.ID, e.Intent[0], newest)
	}
	w.newest[e.Intent] = max(w.newest[e.Intent], e.ID)
	w.toldAt[e.ID] = max(w.now, w.busy)
	ok, takes := w.answers(e)
	if ok {
		w.repeats += map[bool]int{true: 1}[w.confirmed[e.ID]]
		w.confirmed[e.ID] = true
	}
	if w.cost > 0 { // one processor has all of them
		w.busy = max(w.busy, w.now) + w.cost
		takes = w.busy - w.now + time.Millisecond
	}
	w.in(takes, func() {
		if epoch == w.epoch {
			w.flying--
		}
		w.feed(epoch, answered{intent: e.Intent, ok: ok, why: "no"})
	})
}

func (w *world) answers(e Event) (ok bool, takes time.Duration) {
	takes = time.Millisecond + w.upTo(50*time.Millisecond)
	switch w.kind {
	case calm:
		return true, time.Millisecond
	case hangs, model:
		if w.kind == model && e.Intent == (pending.ID{1}) {
			return false, takes
		}
		if w.rand.IntN(100) == 0 {
			return false, 10 * time.Second
		}
	case refuses:
		return w.rand.IntN(5) > 0, takes
	case poison:
		return e.Intent[0] != 3 || w.now > time.Hour, takes
	case away:
		return w.now < time.Minute || w.now > 2*time.Hour, takes
	case gone:
		return false, takes
	}
	return true, takes
}

// turn stores a note and reads, unless the leader is over then. One turn in thirty has no answer, stored or not.
func (w *world) turn(epoch int, t Turn) {
	if w.turnAway {
		w.t.Error("two turns are under way")
	}
	w.turnAway = true
	takes := 10 * time.Millisecond
	if w.rand.IntN(5) == 0 && w.kind != model && w.kind != calm {
		takes = 2 * time.Second
	}
	w.in(time.Millisecond+w.upTo(takes), func() {
		if epoch != w.epoch {
			return
		}
		w.turnAway = false
		fault := w.rand.IntN(30)
		if w.kind == model || w.kind == calm {
			fault = -1
		}
		if fault == 0 {
			w.feed(epoch, missed{})
			return
		}
		died := w.store(t.Note)
		if fault == 1 {
			w.feed(epoch, missed{})
			return
		}
		out := w.reads(t)
		out.Died = died
		w.in(time.Millisecond, func() { w.feed(epoch, turned(out)) })
	})
}

func (w *world) store(n *Note) (died int) {
	if n == nil {
		return 0
	}
	w.place, w.health = n.Place, n.Health
	w.health.For -= w.now
	for _, g := range n.Gone {
		if r := w.rows[g.ID]; r != nil && r.put.Equal(g.At) {
			delete(w.rows, g.ID)
		}
	}
	for _, a := range n.Again {
		r := w.rows[a.ID]
		if r == nil {
			w.t.Errorf("%d waits nowhere, and is to wait again", a.ID)
			continue
		}
		r.Again, r.due = a, w.now+a.Pause
	}
	for _, p := range n.Park {
		if w.confirmed[p.ID] && p.Dead {
			w.t.Errorf("%d is confirmed, and dead", p.ID)
		}
		w.rows[p.ID] = &row{Park: p, at: w.now - p.Since, due: w.now + p.Pause, waiting: p.Pause == 0}
	}
	for _, r := range w.rows {
		if n.Aged && !r.Dead && w.now-r.at >= GiveUp {
			r.Dead = true
			died++
		}
	}
	firsts := map[pending.ID]bool{}
	waiting := 0
	for _, id := range slices.Sorted(maps.Keys(w.rows)) {
		r := w.rows[id]
		if r.Dead {
			continue
		}
		waiting += map[bool]int{true: 1}[r.Tries > 0]
		if first := !firsts[r.Intent]; first && r.waiting && (len(n.Intents) == 0 || n.Aged || slices.Contains(n.Intents, r.Intent)) {
			r.waiting, r.due = false, w.now
		}
		firsts[r.Intent] = true
	}
	w.most, w.ended = max(w.most, waiting), w.over()
	return died
}

func (w *world) reads(t Turn) (out Turned) {
	firsts := map[pending.ID]bool{}
	for _, id := range slices.Sorted(maps.Keys(w.rows)) {
		r := w.rows[id]
		first := !firsts[r.Intent]
		firsts[r.Intent] = firsts[r.Intent] || !r.Dead
		switch {
		case t.Waits == 0 || r.Dead || r.waiting || slices.Contains(t.Without, id):
		case r.due > w.now:
			out.NextDue = min(cmp.Or(out.NextDue, r.due-w.now), r.due-w.now)
		case first && len(out.Waits) < t.Waits:
			out.Waits = append(out.Waits, Wait{Event: *w.events[id-1], Put: Put{id, r.put}, Tries: r.Tries, Since: w.now - r.at})
		}
	}
	for id := w.tail + 1; t.Events > 0 && id <= int64(len(w.events)); id++ {
		if !w.visible[id] || w.undone[id] || w.given[id] || len(out.Events) == t.Events {
			continue
		}
		w.given[id] = true
		e := *w.events[id-1]
		e.Age += w.now
		for other, r := range w.rows {
			e.Behind = e.Behind || !r.Dead && r.Intent == e.Intent && other < id
		}
		out.Events = append(out.Events, e)
	}
	for out.Settled = w.tail; w.undone[out.Settled+1] || w.given[out.Settled+1]; {
		out.Settled++
	}
	w.tail = out.Settled
	return out
}
