package pending

import (
	"slices"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// machine decides what is signed, sent, looked up and given up for one account. It
// is pure: an input and the time go in, actions come out. It never concludes more
// from an answer than the answer says; the rules it keeps are in the package comment.
type machine struct {
	set   settings
	phase phase
	slots line   // everything that is not final and stored as such
	next  uint64 // the index that the next intent gets; it never goes down
	floor uint64 // what is loaded anew when the chain goes back below it: slots that are final below may be missing,
	fixed uint64 // and alarmed about below this: it was final
	best  uint64 // how many of the account's transactions the best chain holds
	seen  uint64 // the highest best ever
	final uint64 // the height of the last finalized block
	head  chain.Block

	queued  int
	heard   int           // what was counted since they were last read
	strange bool          // rows may have been lost: nothing is assigned before all that was seen is final
	retry   fence.Instant // nothing before
	later   fence.Instant // when something may be handed over again
	glance  fence.Instant // when to look through the pool though no block has come
	paused  uint64        // nothing is sent or signed below this height,
	resume  fence.Instant // or before this time
	cursor  uint64        // where the next look through the pool begins
	looked  uint64        // the height of the last such look
	front   uint64        // best, as counted last: the lowest slot that is not in the chain,
	since   uint64        // the height at which it became that,
	bumped  uint64        // and at which attempts were raised last
	written uint64        // the height at which changes were stored last,
	overdue fence.Instant // when they are stored though no block has come,
	due     fence.Instant // and before when they are not, while much is under way

	census census // as last counted

	loads                                        bool // a load is under way, also one whose answer is not wanted any more
	signing, sending, looking, saving, searching bool
	alarms                                       map[Alarm]bool
	raising                                      []raise // what is signed for at present, if that is further attempts
	unpaid, unsigned                             bool    // the node, or who signs, says that the account cannot pay
	out                                          []action
}

// settings are what the machine needs to know of a Config. Heights are counted in blocks.
type settings struct {
	MaxInFlight int // slots that are not in the chain
	MaxBatch    int // attempts in one submit, slots in one assign, hashes in one probe
	ResendAfter uint64
	RaiseAfter  uint64
	FillAfter   uint64
	MostRaise   int64         // a slot's attempts never pay more than that many times the first; 0: no limit
	FinalAfter  uint64        // a transaction in a block for longer, and not final, is said to time out (S24)
	Retry       time.Duration // the pause after something that failed
	Patience    time.Duration // how long without a block before the pool is looked at anyway
	Pace        time.Duration // how long between two writes of what became of slots, while much is under way
}

type phase uint8

const (
	blank   phase = iota // nothing is known
	loading              // it was asked for, and nothing has happened since that its answer may miss
	working
)

// newMachine returns a machine that begins by loading.
func newMachine(s settings) *machine {
	return &machine{set: s, slots: newLine(), alarms: map[Alarm]bool{}}
}

// Step takes one input at the time now and returns what to do, in order.
func (m *machine) Step(now fence.Instant, in input) []action {
	m.out = nil
	switch in := in.(type) {
	case loaded:
		m.loaded(in)
	case woken:
		m.woken(in)
	case turned:
		m.turned(in)
	case stored:
		m.stored(now, in)
	case sent:
		m.sent(now, in)
	case seen:
		m.sighted(in)
	case found:
		m.found(now, in)
	case saved:
		m.saved()
	case broke:
		m.broke(now, in)
	case lost:
		m.phase = blank
		m.retry = now.Add(m.set.Retry)
	case tick:
	}
	m.pump(now)
	return m.out
}

// Next is when Step wants to be called with a Tick if nothing else happens before;
// 0 means never.
func (m *machine) Next() fence.Instant {
	if m.retry != 0 || m.phase != working { // else an answer is awaited, and nothing is due before
		return m.retry
	}
	next := m.later
	if m.paused > m.head.Number {
		next = sooner(next, m.resume)
	}
	if !m.looking {
		next = sooner(next, m.glance)
	}
	return next
}

// sooner is the earlier of two instants of which 0 is never.
func sooner(a, b fence.Instant) fence.Instant {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

func (m *machine) do(a action) { m.out = append(m.out, a) }

// loaded begins anew from what is stored. Everything not final is in doubt: a
// predecessor may have sent it, and blocks have passed (S20).
//
// An answer is of no use if something has happened since it was asked for: rows that
// were stored meanwhile are not in it, and would be forgotten.
func (m *machine) loaded(in loaded) {
	m.loads = false
	if m.phase != loading {
		return
	}
	m.phase = working
	m.slots.clear()
	for _, s := range in.Snapshot.Slots {
		m.slots.add(&slot{Slot: s, doubt: true, tries: make([]try, len(s.Attempts))})
		m.alarm(Alarm{Cause: Rewound, Index: s.Index}, s.Final && s.Index >= in.Best)
	}
	m.floor, m.fixed = in.Best, max(m.fixed, min(in.Final, in.Best))
	m.next = max(m.next, in.Snapshot.Next)
	m.counted(in.Best)
	m.calmGone()
	m.queued = in.Snapshot.Queued
	m.paused, m.cursor, m.looked = 0, 0, 0
	m.strange = in.Snapshot.Strange
	m.covered(in.Final)
}

// counted takes what the chain says of the account's next index. One answer of one
// node may be old: the next index to give away only grows.
func (m *machine) counted(best uint64) {
	m.best = best
	m.seen = max(m.seen, best)
	m.next = max(m.next, best)
	if m.best < m.fixed || m.best >= m.seen {
		m.alarm(Alarm{Cause: Rewound, Whole: true}, m.best < m.fixed)
	}
}

// covered: nothing of what was ever seen in the chain can be unknown to us any more
// and still come back.
func (m *machine) covered(final uint64) {
	m.strange = m.strange && final < m.seen
	m.alarm(Alarm{Cause: Strange, Whole: true}, m.strange)
}

func (m *machine) woken(in woken) {
	m.queued = max(m.queued, in.Queued)
	if in.Counted { // what was merely heard is mostly what is being signed
		m.heard = max(m.heard, in.Queued)
	}
	for _, index := range in.Cancels {
		if s := m.slots.get(index); s != nil {
			s.Cancel = true
		}
	}
}

// broke: an action failed as a whole. What reads is tried again later. What writes
// may have happened; then only the rows know.
func (m *machine) broke(now fence.Instant, in broke) {
	m.retry = now.Add(m.set.Retry)
	switch a := in.Action.(type) {
	case load:
		m.loads, m.phase = false, blank
	case assign, replace:
		m.signing = false
		if in.Unsure {
			m.phase = blank
		}
	case save:
		m.saving = false // saving twice is harmless
		for _, s := range m.slots.all() {
			s.saving = false
		}
		if in.Unsure && slices.ContainsFunc(a.Changes, func(c Change) bool { return c.Intent == Again }) {
			m.phase = blank // the intent may wait for another slot by now, and is not this one's any more
		}
	case probe:
		m.looking = false
	case search:
		m.searching = false
	case submit:
		m.sending = false
		for _, t := range a.Attempts {
			m.unsure(t.Index, t.Hash)
		}
	case Alarm:
	}
}
