package pending

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// machine decides what is signed, sent, looked up and given up for one account. It is pure: an
// input and the time go in, actions come out. The package comment has its rules.
type machine struct {
	set        settings
	phase      phase
	slots      line          // the slots that are not stored as final, but for those in deep
	deep       deep          // the slots that have left the line
	next       uint64        // the nonce that the next intent gets; it never goes down
	loadedFrom uint64        // reload if best drops below this: slots under it may not be in memory
	readFrom   uint64        // see load.Final
	finalBelow uint64        // raise the alarm Rewound if best drops below this: the nonces under it were final
	best       uint64        // the account's next nonce at the head, at most next: what is above, the store does not know
	bestEver   uint64        // the highest best ever
	head       chain.Block   // the newest block of the best chain
	final      chain.Block   // the last final block, an ancestor of head; zero if it is not known
	finalBy    string        // the endpoint that called it final
	finals     uint64        // counts the turns that named a final block
	still      bool          // the head stands: see stand
	stood      uint64        // how many blocks time has counted for
	movedAt    fence.Instant // when the head last moved, or time last counted for a block
	unwound    bool          // a block has left the chain since the last one was applied
	lower      int           // counts in a row that were below best, although no block had left the chain

	resting      bool          // the chain is not followed: it is asked for its count before the next nonce is assigned
	queued       int           // intents that wait for a slot
	putOff       PutOff        // those of them that others pass, as last counted
	heard        int           // the highest count of them since the last assign began
	strange      bool          // rows may be lost: assign nothing until every nonce below strangeTop is final
	strangeTop   uint64        // the highest next nonce that the chain or a pool ever had
	strangeAt    uint64        // the height at which it was last raised
	strangeUntil fence.Instant // it does not end before this instant
	strangeEnds  int           // turns that named a final block not below strangeAt

	stayAt chain.Hash // the head at which no slot could leave the line
	ahead  ahead      // what is known of nonces that the chain has used and the store does not know
	recall recall     // the reading of blocks for slots of an earlier term

	retry    fence.Instant // no action before this instant; 0 if there is no limit
	reread   fence.Instant // the same for actions that only read the chain, since one has failed
	later    fence.Instant // when a postponed submit, replace or save is due; 0 if there is none
	window   window        // how many nonces from best on may be signed and sent
	most     int           // how many intents the next assign may have: fewer after one that failed
	mostRead int           // the same for what a probe and a confirm read
	sentFrom uint64        // best when the submit under way began

	paused uint64        // sign and send nothing until the head has this height, or until resume
	resume fence.Instant // see paused

	signAt uint64        // sign nothing until the head has this height, or until signBy
	signBy fence.Instant // see signAt

	cursor   uint64        // the nonce at which the next look through the pool begins
	lookedAt uint64        // the height of the last look through the pool
	lookBy   fence.Instant // look through the pool at this instant even if no block has come

	front      uint64 // the lowest nonce that is not in a block, as of the last census
	frontSince uint64 // the height at which front last changed
	markedAt   uint64 // the height at which slots were last marked as stuck

	frontFrom  fence.Instant // the instant of frontSince
	markedFrom fence.Instant // the instant of markedAt

	savedAt  uint64        // the height at which changes were last stored
	saveFrom fence.Instant // while busy, store no changes before this instant
	saveBy   fence.Instant // store changes at this instant even if no block has come

	census census // what the last count of slots found

	loads          bool           // a load is under way, perhaps one whose answer is no longer wanted
	signing        bool           // an assign or a replace is under way
	sending        bool           // a submit is under way
	looking        bool           // a probe is under way
	saving         bool           // a save is under way
	searching      bool           // a search is under way
	linking        bool           // a link is under way
	confirming     bool           // a confirm is under way
	surveying      bool           // a survey is under way
	paging         bool           // a page is under way
	alarms         map[Alarm]bool // whether an alarm is raised, by its cause and subject
	replacing      []replacement  // what the replace under way signs; nil during an assign
	sendLacksFunds shortage       // what the node's last answers say of the account's balance
	signLacksFunds shortage       // what the last signing says of it
	stopped        Hold           // why the last signing stopped
	savedHold      Hold           // the hold last stored
	out            []action       // the actions of the current Step
}

// settings are the fields of [Config] with the same names, with defaults filled in.
type settings struct {
	MaxInFlight int
	MaxBatch    int
	ResendAfter uint64
	RaiseAfter  time.Duration
	FillAfter   uint64
	MostRaise   int64 // 0: no limit
	FinalAfter  time.Duration
	SearchAfter uint64
	SharedKey   bool
	RestoreWait time.Duration
	RejectAfter time.Duration
	StillAfter  time.Duration // of the chain's Description
	Relaxed     bool
	Retry       time.Duration
	Patience    time.Duration
	Pace        time.Duration
	Held        held
}

// phase tells whether the machine knows the account's slots.
type phase uint8

const (
	blank   phase = iota // nothing is known, and no load is under way that will do
	loading              // a load is under way, and nothing has happened that its answer could miss
	working
)

// newMachine returns a machine whose first action is load.
// noFinal is a nonce that no transaction has.
const noFinal uint64 = math.MaxInt64

func newMachine(s settings) *machine {
	s.Held = cmp.Or(s.Held, usual)
	return &machine{set: s, slots: newLine(), readFrom: noFinal, alarms: map[Alarm]bool{}, window: newWindow(s.MaxInFlight), most: s.MaxBatch, mostRead: s.MaxBatch}
}

// Step takes one input at the time now and returns the actions to carry out, in order.
func (m *machine) Step(now fence.Instant, in input) []action {
	m.out = nil
	switch in := in.(type) {
	case loaded:
		m.loaded(now, in)
	case moved:
		m.readFinal(in.From)
	case woken:
		m.woken(in)
	case turned:
		m.turned(now, in)
	case stored:
		m.stored(now, in)
	case sent:
		m.sent(now, in)
	case seen:
		m.seen(in)
	case linked:
		m.linked(in)
	case confirmed:
		m.confirmed(in)
	case surveyed:
		m.surveyed(in)
	case found:
		m.found(in)
	case saved:
		m.saved()
	case paged:
		m.paged(now, in)
	case broke:
		m.broke(now, in)
	case lost:
		m.phase = blank
		m.retry = now.Add(m.set.Retry)
	case rested:
		m.resting = true
		m.window.growAt -= min(m.window.growAt, m.head.Number)
		m.head, m.final = chain.Block{}, chain.Block{} // waiting times begin with the next head
	case raised:
		m.raised()
	case tick:
	}
	m.pump(now)
	return m.out
}

// Next returns the instant at which Step needs a tick if no input comes before; 0 means never.
func (m *machine) Next() fence.Instant {
	if m.retry != 0 || m.phase != working { // while loading nothing is due before the answer
		return m.retry
	}
	next := m.later
	if m.paused > m.head.Number {
		next = sooner(next, m.resume)
	}
	if m.signAt > m.head.Number {
		next = sooner(next, m.signBy)
	}
	if !m.looking && m.reread == 0 {
		next = sooner(next, m.lookBy)
	}
	return sooner(next, m.reread)
}

// idle reports whether there is nothing for which the chain has to be followed.
func (m *machine) idle() bool {
	busy := m.loads || m.signing || m.saving || m.looking || m.sending || m.searching || m.linking || m.confirming || m.surveying || m.paging
	return m.phase == working && !busy && m.retry == 0 && len(m.slots.all()) == 0 && len(m.deep.order) == 0 && m.queued == 0 && m.savedHold == m.hold() &&
		!m.strange && m.ahead.count <= m.next
}

// sooner returns the earlier of two instants, where 0 means never.
func sooner(a, b fence.Instant) fence.Instant {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

func (m *machine) do(a action) { m.out = append(m.out, a) }

// loaded starts over from the stored rows (S20). Blocks have passed, and a predecessor may have sent any
// attempt. So a slot that the chain does not count as used is sent again as it is, and one that it counts is
// in the block that was last stored, until that proves wrong, or in doubt. The answer is dropped if the phase
// has changed since, because it lacks rows stored meanwhile.
func (m *machine) loaded(now fence.Instant, in loaded) {
	m.loads = false
	if m.phase != loading {
		return
	}
	m.phase = working
	m.slots.clear()
	m.deep = m.restoredRuns(in.Snapshot.Runs, now)
	lowest := in.Snapshot.Next // of the nonces that are not stored as final
	if len(m.deep.order) > 0 {
		lowest = m.deep.order[0].First
	}
	for _, s := range in.Snapshot.Slots {
		one := restored(s, in.Best)
		one.inSince = m.storedIn(one, now)
		m.slots.add(one)
		m.alarm(Alarm{Cause: Rewound, Index: s.Index}, s.Final && s.Index >= in.Best && one.in == nil)
		if !s.Final {
			lowest = min(lowest, s.Index)
		}
	}
	m.loadedFrom, m.finalBelow = min(in.Best, max(m.next, in.Snapshot.Next)), max(m.finalBelow, min(lowest, in.Best))
	m.loadedFrom, m.readFrom = min(m.loadedFrom, m.readFrom), noFinal
	m.next = max(m.next, in.Snapshot.Next)
	m.ahead.loaded(in.Snapshot)
	if in.Snapshot.Strange && !m.strange {
		m.strangeUntil = now.Add(m.set.RestoreWait)
	}
	m.strange = in.Snapshot.Strange
	m.lower = 0
	m.noteCount(max(in.Best, in.Pooled))
	m.noteBest(in.Best)
	m.endPastAlarms()
	m.queued, m.savedHold = in.Snapshot.Queued, in.Snapshot.Hold
	m.notePutOff(in.Snapshot.PutOff)
	m.paused, m.signAt, m.cursor, m.lookedAt = 0, 0, 0, 0
	m.recall = recall{below: m.best}
	m.alarm(Alarm{Cause: Strange, Whole: true}, m.strange)
}

// noteCount takes the next nonce of the chain or of a pool, for the strange state.
func (m *machine) noteCount(count uint64) {
	if count > m.strangeTop {
		m.strangeTop, m.strangeAt, m.strangeEnds = count, m.head.Number, 0
	}
}

// noteBest takes the account's next nonce at the head.
func (m *machine) noteBest(count uint64) {
	m.best = min(count, m.next)
	for _, s := range m.slots.all() { // one in doubt does not leave the line
		if s.uncounted {
			m.best = min(m.best, s.Index)
			break
		}
	}
	m.deep.uncounted(m.best)
	m.bestEver = max(m.bestEver, m.best)
	if m.best < m.finalBelow || m.best >= m.bestEver {
		m.alarm(Alarm{Cause: Rewound, Whole: true}, m.best < m.finalBelow)
	}
	m.ahead.count = count
	m.checkAhead()
}

func (m *machine) woken(in woken) {
	m.queued = max(m.queued, in.Queued)
	if in.Counted { // a hint mostly means intents that are being signed already
		m.heard = max(m.heard, in.Queued)
		m.notePutOff(in.PutOff)
	}
	for _, index := range in.Cancels {
		if s := m.slots.get(index); s != nil { // one that has left comes back with the wish
			s.Cancel = true
		}
	}
	if m.resting && m.queued > 0 { // another holder of the key may have used the next nonce meanwhile (W6)
		m.resting, m.phase = false, blank
	}
}

// broke takes the failure of an action. After a write that may have happened it loads the rows. After a read
// nothing waits but reads: a node that fails to look something up may take what is sent.
func (m *machine) broke(now fence.Instant, in broke) {
	switch in.Action.(type) {
	case probe, search, link, confirm, survey, page:
		m.reread = now.Add(m.set.Retry)
	default:
		m.retry = now.Add(m.set.Retry)
	}
	switch a := in.Action.(type) {
	case load:
		m.loads, m.phase = false, blank
	case assign, replace:
		m.signing = false
		if one, is := a.(assign); is { // it may have been too much for the time that it had
			m.most = max(1, min(m.most, one.Most)/2)
		}
		if in.Unsure {
			m.phase = blank
		}
	case save:
		m.saving = false // storing a change twice is harmless
		for _, s := range m.slots.all() {
			s.saving = nil
		}
		if in.Unsure && slices.ContainsFunc(a.Changes, func(c Change) bool { return c.Intent == Again }) {
			m.phase = blank // the slot may have lost its intent to the queue
		}
	case probe:
		m.looking, m.mostRead = false, max(1, min(m.mostRead, len(a.Hashes))/2)
	case search:
		m.searching = false
		m.recall.broke(a)
	case link:
		m.linking = false
	case confirm:
		m.confirming, m.mostRead = false, max(1, min(m.mostRead, readsOf(a.Claims))/2)
	case survey:
		m.surveying = false
	case page:
		m.paging, m.deep.asked = false, nil
	case submit, Alarm: // neither fails: each attempt has an answer of its own
	}
}
