package pending

import (
	"cmp"
	"slices"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// machine decides what is signed, sent, looked up and given up for one account. It is pure: an
// input and the time go in, actions come out. The package comment has its rules.
//
// Each of its parts decides one thing, and has a file that can be read alone. A method take… of a part takes an input; a
// method ask… asks for an action, if there is reason for one. Here is in which order they have their turn.
type machine struct {
	account
	rows    rows    // reads the rows
	unknown unknown // waits for transactions that the store does not know
	front   front   // hurries the lowest nonce
	signing signing
	sending sending
	saving  saving
	finding finding // looks for attempts
	proving proving // proves that they are final
	paging  paging  // keeps few slots in memory
	span    life    // knows where the account begins anew
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
	Era         uint64 // of the chain's Description
	NoIndex     bool   // likewise
	Lives       bool   // likewise
	RestoreWait time.Duration
	RejectAfter time.Duration
	StillAfter  time.Duration // of the chain's Description
	Relaxed     bool
	Retry       time.Duration
	Patience    time.Duration
	Pace        time.Duration
	Held        held
}

// newMachine returns a machine whose first action is load.
func newMachine(s settings) *machine {
	s.Held = cmp.Or(s.Held, usual)
	m := &machine{account: account{set: s, slots: newLine(), alarms: map[Alarm]bool{}, pace: pace{mostRead: s.MaxBatch}}}
	a := &m.account
	m.rows = rows{account: a, readFrom: noFinal}
	m.unknown = unknown{account: a}
	m.front = front{account: a}
	m.sending = sending{account: a, window: newWindow(s.MaxInFlight)}
	m.span = life{account: a}
	m.signing = signing{account: a, span: &m.span, front: &m.front, unknown: &m.unknown, window: &m.sending.window, most: s.MaxBatch}
	m.saving = saving{account: a, signing: &m.signing}
	m.finding = finding{account: a, front: &m.front}
	m.proving = proving{account: a}
	m.paging = paging{account: a, signing: &m.signing}
	return m
}

// Step takes one input at the time now and returns the actions to carry out, in order.
func (m *machine) Step(now fence.Instant, in input) []action {
	m.out = nil
	m.underway.endErrand(in.answers())
	switch in := in.(type) {
	case loaded:
		m.takeLoaded(now, in)
	case moved:
		m.rows.readFinal(in.From)
	case woken:
		m.takeWoken(in)
	case turned:
		m.takeTurn(now, in)
	case stored:
		m.signing.takeStored(now, in)
	case sent:
		m.sending.takeSent(now, in)
	case seen:
		m.finding.takeSeen(in)
	case linked:
		m.proving.takeLinked(now, in)
	case confirmed:
		m.proving.takeConfirmed(in)
		m.span.takeConfirmed(in)
	case surveyed:
		m.unknown.takeSurveyed(in)
	case found:
		m.takeFound(in)
	case saved:
		m.takeSaved()
	case paged:
		m.paging.takePaged(now, in)
	case broke:
		m.takeBroke(now, in)
	case lost:
		m.span.forgetFollowed()
		m.rows.forgetRows()
		m.pace.retry = now.Add(m.set.Retry)
	case rested:
		m.sending.window.beginRest(m.head.Number)
		m.rows.beginRest()
	case raised:
		m.signing.takeRaised()
	case tick:
	}
	m.giveOrders(now)
	return m.out
}

// giveOrders starts every action that is possible now.
func (m *machine) giveOrders(now fence.Instant) {
	if m.pace.isHeld(now) {
		return
	}
	m.rows.askLoad()
	if m.rows.phase != working {
		return
	}
	m.pace.beginStep(now)
	if m.span.isHalted() {
		m.endLife(now)
		return
	}
	m.signing.endHold(now)
	m.standStill(now)
	m.finding.beginRecall()
	m.takeCensus(now)
	m.front.noteProgress(now)
	m.span.notePad()
	m.paging.leaveLine(now)
	m.front.markStuck(now)
	m.saving.askSave(now)
	if m.pace.mayRead(now) {
		m.paging.askPage(now)
		m.finding.askProbe(now)
		m.proving.askLink()
		m.proving.askConfirm()
		m.finding.askSearch()
		m.unknown.askSurvey()
	}
	m.signing.askAttempts(now)
	m.sending.askSubmit(now)
}

// endLife starts what is possible while nothing is signed or sent.
func (m *machine) endLife(now fence.Instant) {
	m.standStill(now)
	m.takeCensus(now)
	m.saving.askSave(now)
	if m.pace.mayRead(now) {
		if m.span.isPast() {
			m.paging.askRest()
		} else {
			m.paging.askPage(now)
		}
		m.proving.askLink()
		m.proving.askConfirm()
		m.span.ask()
	}
}

// Next returns the instant at which Step needs a tick if no input comes before; 0 means never.
func (m *machine) Next() fence.Instant {
	if m.pace.retry != 0 || m.rows.phase != working { // while loading nothing is due before the answer
		return m.pace.retry
	}
	if m.span.isHalted() {
		return sooner(m.pace.nextDue(m.head.Number), m.pace.reread)
	}
	next := sooner(m.pace.nextDue(m.head.Number), m.signing.nextDue())
	next = sooner(next, m.finding.nextDue())
	return sooner(next, m.pace.reread)
}

// isIdle reports whether there is nothing for which the chain has to be followed.
func (m *machine) isIdle() bool {
	return m.rows.phase == working && m.underway == (underway{}) && m.pace.retry == 0 && len(m.slots.inOrder()) == 0 && len(m.deep.order) == 0 &&
		m.signing.queued == 0 && !m.span.isHalted() && m.saving.savedHold == m.signing.whyWaiting() && !m.unknown.isBarring()
}

// takeLoaded starts over from the stored rows (S20).
func (m *machine) takeLoaded(now fence.Instant, in loaded) {
	if m.rows.phase == loading {
		m.span.takeLoaded(&in)
	}
	if !m.rows.takeLoaded(now, in) {
		return
	}
	m.unknown.takeLoaded(now, in.Snapshot)
	m.noteCounts(max(in.Best, in.Pooled), in.Best)
	m.endPastAlarms()
	m.saving.savedHold = in.Snapshot.Hold
	m.signing.takeLoaded(in.Snapshot)
	m.finding.takeLoaded()
	m.unknown.alarmStrange()
}

// noteCounts takes the account's next nonce at the head, and the highest one known, perhaps of a pool.
func (m *machine) noteCounts(top, count uint64) {
	m.unknown.noteTop(top)
	m.noteBest(count)
	m.unknown.takeCount(count)
}

// takeFound takes what blocks have. Until it is known of which life that is, only life does.
func (m *machine) takeFound(in found) {
	switch {
	case in.Life:
		m.span.takeFound(in)
	case !m.span.takeElsewhere(in):
		m.finding.takeFound(in)
	}
}

// takeSaved takes that a save has been carried out.
func (m *machine) takeSaved() {
	m.saving.takeSaved()
	if m.span.ending.opening {
		m.rows.forgetRows()
	}
}

// takeTurn takes what has happened to a block.
func (m *machine) takeTurn(now fence.Instant, in turned) {
	b, ended := in.Turn.Block, false
	if in.Turn.Kind == chain.Applied {
		ended = m.span.takeBlock(&in)
		first := m.head.Number == 0
		if !first { // the first head may have what was final before
			m.rows.lookForFinal(in.Inclusions)
		}
		m.front.noteHead(b.Number, first)
		m.finding.noteHead(b.Number, first)
		m.unknown.noteHead(b.Number, first)
		m.sending.window.noteHead(b.Number, first)
	}
	m.tip.takeVersion(in.Turn, in.Version)
	if undone := m.tip.takeTurn(in.Turn, now); undone {
		m.unknown.ahead.forgetProofs()
	}
	if in.Turn.Kind == chain.Reverted {
		m.span.takeReverted(b)
	}
	if m.rows.phase != working {
		return // everything is looked up after the load
	}
	switch in.Turn.Kind {
	case chain.Applied:
		count := m.applyBlock(in)
		if ended {
			if m.span.ending.risen {
				m.rows.forgetRows()
			}
			return
		}
		if m.set.Lives && min(count, m.next) < m.loadedFrom {
			m.rows.forgetRows() // which life it is of is asked before anything is taken back
			return
		}
		m.noteCounts(count, count)
		if min(count, m.next) < m.loadedFrom {
			m.rows.forgetRows() // final slots may have to be sent again
			return
		}
		m.endPastAlarms()
		m.notePassed(count)
	case chain.Reverted:
		m.revertBlock(b)
	case chain.Finalized:
		m.linkFollowed()
		m.span.linkFollowed()
		m.unknown.checkStrange(now)
	}
}

// standStill lets time count for a block if the head stands.
func (m *machine) standStill(now fence.Instant) {
	counts, next := m.tip.standStill(m.set.StillAfter, now)
	if m.pace.remindAt(next); !counts {
		return
	}
	if m.final.Hash != "" {
		m.unknown.checkStrange(now)
	}
	m.unknown.checkAhead()
}

func (m *machine) takeWoken(in woken) {
	m.signing.takeWaits(in)
	if in.Counted && m.alarms[Alarm{Cause: Reaped, Whole: true}] {
		m.rows.forgetRows() // a person may have said something
	}
	for _, index := range in.Cancels {
		if s := m.slots.slotAt(index); s != nil { // one that has left comes back with the wish
			s.Cancel = true
		}
	}
	if m.signing.queued > 0 {
		m.rows.endRest()
	}
}

// takeBroke takes the failure of an action. After a write that may have happened it loads the rows. After a read
// nothing waits but reads: a node that fails to look something up may take what is sent.
func (m *machine) takeBroke(now fence.Instant, in broke) {
	again := now.Add(m.set.Retry)
	switch a := in.Action.(type) {
	case probe:
		m.pace.reread = again
		m.pace.readBadly(len(a.Hashes))
	case confirm:
		m.pace.reread = again
		m.pace.readBadly(readsOf(a.Claims) / readsAlone)
	case search:
		m.pace.reread = again
		m.finding.takeFailed(a)
	case page:
		m.pace.reread = again
		m.deep.asked = nil
	case link, survey:
		m.pace.reread = again
	case load:
		m.pace.retry = again
		m.rows.forgetRows()
	case assign, replace:
		m.pace.retry = again
		if m.signing.takeFailed(a); in.Unsure {
			m.rows.forgetRows()
		}
	case save:
		m.pace.retry = again
		m.saving.takeFailed()
		if a.Opens != nil || in.Unsure && slices.ContainsFunc(a.Changes, func(c Change) bool { return c.Intent == Again }) {
			m.rows.forgetRows() // the slot may have lost its intent to the queue, or the next life have begun
		}
	case submit, Alarm: // neither fails: each attempt has an answer of its own
	}
}
