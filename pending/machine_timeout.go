package pending

import "github.com/conchhq/conch/fence"

// timedOut reports whether the slot's transaction is in its block for so long that its state says so (S26). Blocks are
// no measure: on some chains 512 of them are two minutes, and finality takes twenty.
func (m *machine) timedOut(s *slot, now fence.Instant) bool {
	return s.in != nil && s.inSince != 0 && m.set.FinalAfter > 0 && now >= s.inSince.Add(m.set.FinalAfter)
}

// storedIn returns since when a slot of an earlier term is in its block, 0 if no block was stored. A stored timeout
// stays one.
func (m *machine) storedIn(s *slot, now fence.Instant) fence.Instant {
	switch {
	case s.in == nil:
		return 0
	case s.Last.Status == FinalityTimeout:
		return now.Add(-s.Age - max(0, m.set.FinalAfter))
	}
	return now.Add(-s.Age)
}
