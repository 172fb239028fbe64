package hook

import (
	"math"
	"slices"
	"time"

	"github.com/conchhq/conch/pending"
)

const (
	// Places is how many POSTs are under way to a receiver at once.
	Places = 64
	// GiveUp is for how long an event is tried before it is dead.
	GiveUp = 3 * 24 * time.Hour

	again      = Places / 4             // of the places are for events that were refused before: new ones do not wait for those
	window     = 2000                   // new events in memory
	most       = 500                    // new events that are read at once
	apart      = 20 * time.Millisecond  // between two turns, but after one that has read as many as it may, and before one that is urgent
	afterMiss  = time.Second            // after a turn that has failed
	look       = 5 * time.Second        // between looks for what nobody has announced
	looksApart = 250 * time.Millisecond // between looks for what waits in the store, that something new has caused
	longLook   = 30 * time.Second       // the same, for what waits in the store
	beat       = 10 * time.Minute       // between notes: a receiver that was not noted for long is forgotten
	ailing     = 16                     // failures in a row, after which a receiver is only probed
	never      = time.Duration(math.MaxInt64)
)

// pauses are between the tries of an event that is refused; the last one repeats.
var pauses = []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour}

// probes are the pauses of a receiver that refuses everything.
var probes = []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, time.Minute}

// input is one of woken, tick, answered, turned and missed.
type input any

type (
	woken    struct{} // there may be events
	tick     struct{}
	turned   Turned   // the answer to a turn
	missed   struct{} // a turn had no answer
	answered struct { // to a POST
		intent pending.ID
		ok     bool
		why    string
	}
)

// act is one of post and turn.
type act any

type post struct {
	event Event
	try   int
}

type turn Turn

// machine says what a receiver is told next. It is pure: the time is that of a clock without a beginning.
type machine struct {
	wants func(*Event) bool
	now   time.Duration

	settled int64          // every event up to this ID was read
	known   ranges         // IDs above it that were
	open    map[int64]bool // events in memory that are neither confirmed nor stored
	lines   map[pending.ID]*line
	hasty   []pending.ID // lines that can be told of and have an end, the longest wait first
	ready   []pending.ID // the others that can be, likewise
	posting int
	waits   int // in memory of those that wait in the store

	failures int
	failing  time.Duration // since when
	why      string
	probeAt  time.Duration
	cut      time.Duration // new events of before are dead
	isCut    bool

	owed     owed // to be stored
	storing  owed // that is being stored
	dirty    bool // something is owed
	asked    int  // how many that wait the turn asks for
	turning  bool
	news     bool
	urgent   bool          // an event in memory waits for what is owed
	turnAt   time.Duration // turns are not sooner
	calmAt   time.Duration // nor, unless they are urgent, than this
	readAt   time.Duration
	lookAt   time.Duration
	lookedAt time.Duration // when it has looked last for what waits in the store
	seeks    bool          // somebody has woken it since
	beatAt   time.Duration
}

// line is the events of an intent that are in memory, in turn.
type line struct {
	items    []*item
	busy     bool // the first is posted
	unstored int  // what became of so many is not stored yet
	leaving  bool // what comes has to be stored: an earlier one waits there
	queued   bool // it is in ready, or in hasty
	hasty    bool // then in hasty
}

type item struct {
	Event
	waits bool // in the store
	put   Put  // then
	tries int
	since time.Duration // its first try, or when it was told or stored
}

// newMachine begins at a place, with what is known of the receiver.
func newMachine(now time.Duration, at Place, h Health, wants func(*Event) bool) *machine {
	return &machine{
		wants: wants, now: now, settled: at.UpTo, known: slices.Clone(at.Beyond), open: map[int64]bool{}, lines: map[pending.ID]*line{},
		failures: h.Failures, failing: now - h.For, why: h.Why, probeAt: now, news: true, lookAt: now, lookedAt: now - looksApart, beatAt: now + beat,
	}
}

// Step takes an input, and returns what is to be done.
func (m *machine) Step(now time.Duration, in input) (acts []act) {
	m.now = now
	switch in := in.(type) {
	case woken:
		m.news, m.seeks = true, true
		m.lookSoon()
	case answered:
		m.takeAnswer(in)
	case turned:
		m.takeTurned(Turned(in))
	case missed:
		m.turning, m.turnAt = false, now+afterMiss
		m.owed, m.storing = m.storing.and(m.owed), owed{}
		m.dirty, m.news, m.lookAt = true, true, now
	}
	for {
		p, is := m.nextPost()
		if !is {
			break
		}
		acts = append(acts, p)
	}
	if t, is := m.nextTurn(); is {
		acts = append(acts, t)
	}
	return acts
}

// Due returns when the machine wants the time, and whether it does.
func (m *machine) Due() (at time.Duration, is bool) {
	at = never
	if !m.turning {
		at = m.beatAt
		if m.mayRead() {
			at = min(at, m.readAt)
		}
		if m.mayLook() {
			at = min(at, m.lookAt)
		}
		if m.dirty || m.news && m.mayRead() {
			at = m.turnAt
		}
		at = max(at, m.turnFrom())
	}
	if m.ails() && m.posting == 0 && len(m.ready)+len(m.hasty) > 0 {
		at = min(at, m.probeAt)
	}
	return at, at != never
}

// ails reports whether the receiver is only probed.
func (m *machine) ails() bool { return m.failures >= ailing }

func (m *machine) mayRead() bool { return len(m.open) <= window-most }

// mayLook reports whether there is a place for what waits in the store. A receiver that ails has one only if nothing new can be tried.
func (m *machine) mayLook() bool {
	if m.ails() {
		return len(m.lines) == 0
	}
	return m.waits < again
}

// turnFrom says from when on there may be a turn.
func (m *machine) turnFrom() time.Duration {
	if m.urgent {
		return m.turnAt
	}
	return max(m.turnAt, m.calmAt)
}

// nextTurn returns what is asked of the store. One turn is under way at a time, so what is read is never older than what was noted.
func (m *machine) nextTurn() (t turn, is bool) {
	if m.turning || m.now < m.turnFrom() {
		return t, false
	}
	if m.mayRead() && (m.news || m.now >= m.readAt) {
		t.Events = most
	}
	if m.mayLook() && m.now >= m.lookAt {
		if t.Waits = again - m.waits; m.ails() {
			t.Waits = 1
		}
		t.Without, m.lookedAt, m.seeks = m.waiting(), m.now, false
	}
	if m.dirty || m.now >= m.beatAt {
		note := m.note()
		m.storing, m.owed, m.dirty, m.urgent, m.beatAt = m.owed, owed{}, false, false, m.now+beat
		t.Note = &note
	}
	if t.Events == 0 && t.Waits == 0 && t.Note == nil {
		return t, false
	}
	m.turning, m.asked, m.news = true, t.Waits, m.news && t.Events == 0
	return t, true
}

// waiting returns the IDs of those in memory that wait in the store.
func (m *machine) waiting() (ids []int64) {
	for _, l := range m.lines {
		for _, it := range l.items {
			if it.waits {
				ids = append(ids, it.ID)
			}
		}
	}
	slices.Sort(ids)
	return ids
}
