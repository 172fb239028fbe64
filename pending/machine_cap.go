package pending

import (
	"fmt"
	"math/big"
	"strings"
)

// A slot is capped if the attempt that it needs is above the limit of the account, or of its own first fee. It keeps
// its attempts, which are sent again, until fees fall or more is allowed. It never ends by itself.

// behindCap is how many nonces may follow a capped one. More would only wait in the pool.
const behindCap = offered

// keepsToLimit notes that a slot is capped, and why: what is needed, and what is allowed.
func (m *machine) keepsToLimit(s *slot, why string) {
	s.capped = true
	m.alarm(Alarm{Cause: Fees, Index: s.Index, Why: why}, true)
	s.waits = Fees.String() + ": " + why // the alarm is reported once, and what is needed changes
}

// uncap notes that the slot needs no attempt above the limit.
func (m *machine) uncap(s *slot) {
	if s.capped {
		s.capped, s.waits = false, "" // no alarm ends that, if an earlier term found it capped
		m.alarm(Alarm{Cause: Fees, Index: s.Index}, false)
	}
}

// raised takes that the limit of the account has changed: what it has stopped is tried at once.
func (m *machine) raised() {
	m.paused, m.signAt = 0, 0
	for _, s := range m.slots.all() {
		if s.capped {
			s.payMore, s.stuck = true, s.withNode()
		}
	}
}

// roomBehindCap returns how many nonces from next on may be assigned behind the lowest capped slot.
func (m *machine) roomBehindCap() int {
	s := m.census.capped
	if s == nil {
		return m.set.MaxInFlight
	}
	return max(0, int(s.Index)+behindCap+1-int(m.next))
}

// capHold is why waiting intents get no nonce behind a capped slot.
func (m *machine) capHold() string {
	s := m.census.capped
	return fmt.Sprintf("no more than %d wait behind the nonce %d, which waits: %s", behindCap, s.Index, s.waits)
}

// restoreCap takes over that an earlier term has found the slot capped, until it is found out anew.
func (s *slot) restoreCap() {
	if said := s.Last.Waits; strings.HasPrefix(said, Fees.String()+": ") && !s.Final {
		s.capped, s.waits = true, said
	}
}

// dearest says what a slot needs that is dear, and what it may pay: times the fee of its first attempt.
func (s *slot) dearest(times int64) string {
	attempt, _ := s.last()
	last, first := attempt.Fee.Max, s.Attempts[0].Fee.Max
	if last == nil || first == nil {
		last, first = attempt.Fee.Tip, s.Attempts[0].Fee.Tip
	}
	if last == nil || first == nil {
		return ""
	}
	return fmt.Sprintf("it would have to pay more than %v, and %d times its first fee, %v, is the most", last, times, new(big.Int).Mul(first, big.NewInt(times)))
}
