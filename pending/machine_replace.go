package pending

import (
	"errors"
	"slices"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// markStuck marks a batch of the first slots for a higher fee if nothing of the account was included
// for RaiseAfter blocks, nor marked. Marked one at a time, each would cost RaiseAfter blocks. It marks
// attempts that a node has, up to the first gap, since nothing behind a gap can be included.
func (m *machine) markStuck() {
	if m.set.RaiseAfter == 0 || m.head.Number < max(m.since, m.markedAt)+m.set.RaiseAfter {
		return
	}
	for index := m.front; index < m.front+uint64(m.set.MaxBatch); index++ {
		s := m.slots.get(index)
		if s == nil {
			break
		}
		if _, t := s.last(); s.in == nil && !s.doubt && (t.reached == taken || t.reached == pooled) {
			s.raise, m.census.raises = true, true
		}
	}
	m.markedAt = m.head.Number
}

// raises returns the further attempts to be signed, those that fill gaps first, and ends the raises
// that would cost too much, with an alarm.
func (m *machine) raises(now fence.Instant) (raises []raise) {
	for _, index := range m.gaps() {
		raises = append(raises, raise{Index: index, Filler: true, New: true})
	}
	if !m.census.raises {
		return raises
	}
	for _, s := range m.slots.all() {
		if len(raises) == m.set.MaxBatch {
			break
		}
		_, t := s.last()
		// In a block, unknown, below the chain's count, or being detached from its intent.
		if s.in != nil || s.doubt || s.Index < m.best || s.handing() {
			continue
		}
		if s.raise && now < t.after {
			m.later = sooner(m.later, t.after)
			continue
		}
		if s.raise && s.dear(m.set.MostRaise) {
			// An attempt that no node has is sent again; one in a pool stays there. A higher limit
			// is the operator's decision.
			s.raise, m.census.unsent = false, true
			switch {
			case t.reached != refused:
				m.alarm(Alarm{Cause: Fees, Index: s.Index}, true)
			case s.filled(): // Unfilled is raised already; the node may accept the filler after all
				t.reached = gone
			}
		}
		filler := s.filled() || s.void || s.Cancel || s.handedOn()
		if s.raise || filler && !s.filled() {
			a, _ := s.last()
			raises = append(raises, raise{Index: s.Index, Above: a.Fee, Before: len(s.Attempts), Gas: a.Gas, Filler: filler})
		}
	}
	return raises
}

// gaps returns the nonces from best up to next that have no slot, after FillAfter blocks without
// progress: rows were lost, or a transaction that another holder of the key sent has vanished.
func (m *machine) gaps() (missing []uint64) {
	if m.set.FillAfter == 0 || m.head.Number < m.since+m.set.FillAfter {
		return nil
	}
	for index := m.best; index < m.next && len(missing) < m.set.MaxBatch; index++ {
		if m.slots.get(index) == nil {
			missing = append(missing, index)
		}
	}
	return missing
}

// stored takes in attempts that were signed and committed. From here on they may be sent.
func (m *machine) stored(now fence.Instant, in stored) {
	m.signing = false
	if m.raising == nil {
		m.queued = max(in.Left, m.heard) // an assign; a replace does not count the queue
	}
	for _, add := range in.Slots {
		s := m.slots.get(add.Index)
		if s == nil && m.wasRaised(add.Index) {
			continue
		}
		if s == nil {
			s = &slot{Slot: add, tries: make([]try, len(add.Attempts))}
			s.told = s.change(false) // the store has written this state
			s.telling = s.told
			m.slots.add(s)
			m.next = max(m.next, add.Index+1)
			continue
		}
		s.Attempts = append(s.Attempts, add.Attempts...)
		s.tries = append(s.tries, make([]try, len(add.Attempts))...)
		s.raise = false
	}
	for _, u := range in.Unsigned {
		m.unsignable(u)
	}
	m.held(now, in.Hold)
}

// wasRaised reports whether the raises under way include one for a slot that existed; if it has gone
// meanwhile, it is final.
func (m *machine) wasRaised(index uint64) bool {
	return slices.ContainsFunc(m.raising, func(w raise) bool { return w.Index == index && !w.New })
}

// unsignable takes a raise that the fee limit or the chain forbids, and raises an alarm. The last
// attempt stays the one to send, since a node may have dropped it.
func (m *machine) unsignable(u unsigned) {
	cause := Fees
	switch {
	case errors.Is(u.Why, chain.ErrFee):
	case errors.Is(u.Why, chain.ErrCall):
		cause = Unsignable
	default:
		return // it concerns the account: the flag stays, and held makes the pause
	}
	if s := m.slots.get(u.Index); s != nil {
		s.raise = false
		if _, t := s.last(); s.filled() && t.reached == refused { // as in raises
			t.reached = gone
		}
	}
	m.alarm(Alarm{Cause: cause, Index: u.Index, Why: u.Why.Error()}, true)
}

// held takes the reason why no more was signed, if any. Signing and sending pause then, until the
// next block or for Patience.
func (m *machine) held(now fence.Instant, why error) {
	m.signLacksFunds = errors.Is(why, chain.ErrFunds)
	text := ""
	if why != nil {
		text = why.Error()
	}
	m.alarmFunds(text)
	if m.raising == nil { // the alarms of a replace name their slots; see unsignable
		m.alarm(Alarm{Cause: Fees, Whole: true, Why: text}, errors.Is(why, chain.ErrFee))
		m.unclear(why)
	}
	m.alarm(Alarm{Cause: Keys, Whole: true, Why: text}, errors.Is(why, chain.ErrKey))
	if why != nil {
		m.pause(now)
	}
}
