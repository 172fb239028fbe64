package pending

import (
	"errors"
	"slices"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// markStuck marks a batch of the first slots for a raise if nothing of the account was included for
// RaiseAfter blocks. One at a time, each would take that many blocks.
func (m *machine) markStuck() {
	if m.set.RaiseAfter == 0 || m.head.Number < max(m.since, m.bumped)+m.set.RaiseAfter {
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
	m.bumped = m.head.Number
}

// raises returns the further attempts to be signed, those that fill gaps first.
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
		if s.in != nil || s.doubt || s.Index < m.best || s.handing() {
			continue
		}
		if s.raise && now < t.after {
			m.later = sooner(m.later, t.after)
			continue
		}
		if s.raise && s.dear(m.set.MostRaise) {
			s.raise, m.census.unsent = false, true // send the last attempt again; a higher fee does not help, or is for the operator to allow
			switch {
			case t.reached != refused:
				m.alarm(Alarm{Cause: Fees, Index: s.Index}, true)
			case s.filled(): // its alarm is raised; the node may accept the filler after all
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

// gaps returns unknown nonces below known slots, after FillAfter blocks without progress: rows were
// lost, or another sender's transaction has vanished.
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
		m.queued = max(in.Left, m.heard) // a replace counts nothing
	}
	for _, add := range in.Slots {
		s := m.slots.get(add.Index)
		if s == nil && m.overtook(add.Index) {
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

// overtook reports whether an attempt was signed for a slot that has become final meanwhile.
func (m *machine) overtook(index uint64) bool {
	return slices.ContainsFunc(m.raising, func(w raise) bool { return w.Index == index && !w.New })
}

// unsignable takes a raise that the fee limit or the chain forbids. It keeps the existing attempt,
// which a node may have dropped and need again, and raises an alarm.
func (m *machine) unsignable(u unsigned) {
	cause := Fees
	switch {
	case errors.Is(u.Why, chain.ErrFee):
	case errors.Is(u.Why, chain.ErrCall):
		cause = Unsignable
	default:
		return // it concerns the account, not the slot
	}
	if s := m.slots.get(u.Index); s != nil {
		s.raise = false
		if _, t := s.last(); s.filled() && t.reached == refused { // as in raises
			t.reached, m.census.unsent = gone, true
		}
	}
	m.alarm(Alarm{Cause: cause, Index: u.Index, Why: u.Why.Error()}, true)
}

// held takes the reason why no more was signed, if any. Signing goes on with the next block.
func (m *machine) held(now fence.Instant, why error) {
	m.unsigned = errors.Is(why, chain.ErrFunds)
	text := ""
	if why != nil {
		text = why.Error()
	}
	m.funds(text)
	if m.raising == nil {
		m.alarm(Alarm{Cause: Fees, Whole: true, Why: text}, errors.Is(why, chain.ErrFee))
		m.unclear(why)
	}
	m.alarm(Alarm{Cause: Keys, Whole: true, Why: text}, errors.Is(why, chain.ErrKey))
	if why != nil {
		m.pause(now)
	}
}
