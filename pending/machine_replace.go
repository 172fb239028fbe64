package pending

import (
	"errors"
	"slices"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// stuckBlocks is how many blocks have to come before a transaction that is in none of them counts as stuck.
const stuckBlocks = 3

// markStuck makes the account's first slots pay more once RaiseAfter and some blocks have passed in which no
// transaction of the account was included and no slot was marked. It marks a batch of them: one at a time, each would
// wait for RaiseAfter. It passes over attempts that no node has, and ends at the first gap, since nothing above a gap
// can be included.
func (m *machine) markStuck(now fence.Instant) {
	if m.set.RaiseAfter <= 0 || m.head.Number < max(m.frontSince, m.markedAt)+stuckBlocks || now < max(m.frontFrom, m.markedFrom).Add(m.set.RaiseAfter) {
		return
	}
	for index := m.front; index < m.front+uint64(m.set.MaxBatch); index++ {
		s := m.slots.get(index)
		if s == nil && m.deep.get(index) != nil {
			continue // it is in a block, or comes back as not sent
		}
		if s == nil {
			break
		}
		if s.withNode() {
			s.payMore, s.stuck, m.census.outdated = true, true, true
		}
	}
	m.markedAt, m.markedFrom = m.head.Number, now
}

// offered is how many of an account's first slots are sent again before any of them is raised. Each pool
// takes so many of an account.
const offered = 16

// offerAgain sends the first slots again as they are once ResendAfter blocks have passed without progress:
// an endpoint that was away has not had them, and one that has taken them may never pass them on (W8).
func (m *machine) offerAgain() {
	if m.head.Number < m.frontSince+m.set.ResendAfter {
		return
	}
	for index := m.front; index < m.front+offered; index++ {
		s := m.slots.get(index)
		if s == nil && m.deep.get(index) != nil {
			continue
		}
		if s == nil {
			break // nothing above a gap can be included
		}
		if s.withNode() {
			s.again, m.census.unsent = true, true
		}
	}
}

// replacements returns the attempts to sign: first those that fill gaps, since all slots above a gap
// wait for it, then those that replace the last attempt of a slot, lowest nonce first.
func (m *machine) replacements(now fence.Instant) (wanted []replacement) {
	for _, index := range m.gaps() {
		wanted = append(wanted, replacement{Index: index, Filler: true, Gap: true})
	}
	if !m.census.outdated {
		return wanted
	}
	for _, s := range m.slots.all() {
		if len(wanted) == m.set.MaxBatch {
			break
		}
		if s.in != nil || s.Index < m.best { // the nonce is used
			continue
		}
		if s.doubt || s.handingOn() { // wait until it is known where the attempts are, and whose they are
			continue
		}
		attempt, delivery := s.last()
		if s.payMore && now < delivery.after {
			m.later = sooner(m.later, delivery.after)
			continue
		}
		if s.payMore && s.dear(m.set.MostRaise) {
			if delivery.reached != refused { // a refused attempt has its own alarm: Refused or Unfilled
				m.keepsToLimit(s, s.dearest(m.set.MostRaise))
			}
			s.keepLast()
			m.census.unsent = true
		}
		if s.payMore || s.needsFiller() {
			one := replacement{Index: s.Index, Above: attempt.Fee, Before: len(s.Attempts), Gas: attempt.Gas, Filler: s.lastIsFiller() || s.needsFiller()}
			one.Stuck = s.stuck && !s.needsFiller()
			if s.refit && s.invalidAt != 0 && !one.Filler { // no node has taken any, so none was executed
				one.Gas = 0
			}
			wanted = append(wanted, one)
		}
	}
	return wanted
}

// gaps returns the nonces from best up to next that have no slot, in the line or out of it, after FillAfter blocks
// without progress: rows were lost, or a transaction that another holder of the key sent has vanished.
func (m *machine) gaps() (missing []uint64) {
	if m.set.FillAfter == 0 || m.head.Number < m.frontSince+m.set.FillAfter {
		return nil
	}
	slots, runs := m.slots.from(m.best), m.deep.from(m.best)
	for index := m.best; index < m.next && len(missing) < m.set.MaxBatch; index++ {
		switch {
		case len(slots) > 0 && slots[0].Index == index:
			slots = slots[1:]
		case len(runs) > 0 && runs[0].First <= index:
			index, runs = runs[0].Last, runs[1:]
		default:
			missing = append(missing, index)
		}
	}
	return missing
}

// stored takes in attempts that were signed and committed. From here on they may be sent.
func (m *machine) stored(now fence.Instant, in stored) {
	m.signing = false
	if m.replacing == nil {
		m.queued = max(in.Left, m.heard) // an assign; a replace does not count the queue
		m.most = min(2*m.most, m.set.MaxBatch)
	}
	for _, add := range in.Slots {
		s := m.slots.get(add.Index)
		if s == nil && m.wasReplacing(add.Index) {
			continue // another attempt of the slot became final meanwhile
		}
		if s == nil {
			s = &slot{Slot: add, deliveries: make([]delivery, len(add.Attempts))}
			s.saved = s.change(false) // the store has written this state
			m.slots.add(s)
			m.next = max(m.next, add.Index+1)
			m.alarm(Alarm{Cause: Fees, Index: s.Index}, false) // about the gap that it fills
			continue
		}
		s.Attempts = append(s.Attempts, add.Attempts...)
		s.deliveries = append(s.deliveries, make([]delivery, len(add.Attempts))...)
		s.payMore, s.stuck = false, false
		m.uncap(s)
	}
	for _, one := range in.Unsigned {
		m.unsignable(one)
	}
	m.held(now, in.Hold)
	if in.PutOff != nil {
		m.notePutOff(*in.PutOff)
	}
}

// wasReplacing reports whether the replace that has ended was to replace an attempt of an old slot.
func (m *machine) wasReplacing(index uint64) bool {
	return slices.ContainsFunc(m.replacing, func(one replacement) bool { return one.Index == index && !one.Gap })
}

// unsignable raises an alarm about a replacement that the fee limit or the chain forbids. Any other
// error concerns the account: the slot still needs the replacement, and held makes a pause.
func (m *machine) unsignable(failed unsigned) {
	s := m.slots.get(failed.Index)
	why := failed.Why.Error()
	switch {
	case errors.Is(failed.Why, chain.ErrEnough):
		if s != nil {
			s.payMore, s.stuck = false, false
			m.uncap(s)
		}
	case errors.Is(failed.Why, chain.ErrFee) && s != nil:
		s.keepLast()
		m.keepsToLimit(s, why)
	case errors.Is(failed.Why, chain.ErrFee): // a gap
		m.alarm(Alarm{Cause: Fees, Index: failed.Index, Why: why}, true)
	case errors.Is(failed.Why, chain.ErrCall):
		if s != nil {
			s.keepLast()
		}
		m.alarm(Alarm{Cause: Unsignable, Index: failed.Index, Why: why}, true)
	}
}

// held takes the reason why no more was signed, nil if there is none. It raises or ends the alarms
// about that, and nothing is signed before the next block, or for Patience if none comes.
func (m *machine) held(now fence.Instant, why error) {
	m.signLacksFunds = m.lacking(m.signLacksFunds, errors.Is(why, chain.ErrFunds) && !errors.Is(why, chain.ErrOwed), now)
	m.stopped = holdOf(why)
	text := ""
	if why != nil {
		text = why.Error()
		m.signAt, m.signBy = m.head.Number+1, now.Add(m.set.Patience)
	}
	if m.signLacksFunds.lacks {
		m.alarmFunds(text)
	} else {
		m.alarmFunds("")
	}
	if m.replacing == nil { // the alarms of a replace name their slots; see unsignable
		m.alarm(Alarm{Cause: Fees, Whole: true, Why: text}, errors.Is(why, chain.ErrFee))
		m.alarmUnclear(why)
	}
	m.alarm(Alarm{Cause: Keys, Whole: true, Why: text}, errors.Is(why, chain.ErrKey))
}
