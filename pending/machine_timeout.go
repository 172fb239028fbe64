package pending

import (
	"time"

	"github.com/conchhq/conch/fence"
)

// timedOut reports whether the slot's transaction is in its block for so long that its state says so (S26). Blocks are
// no measure: on some chains 512 of them are two minutes, and finality takes twenty.
func (m *machine) timedOut(s *slot, now fence.Instant) bool {
	return s.in != nil && m.overdue(s.inSince, now)
}

// overdue reports whether what has been in its block since an instant counts as not becoming final.
func (m *machine) overdue(since, now fence.Instant) bool {
	return since != 0 && m.set.FinalAfter > 0 && now >= since.Add(m.set.FinalAfter)
}

// storedIn returns since when a slot of an earlier term is in its block, 0 if no block was stored. A stored timeout
// stays one.
func (m *machine) storedIn(s *slot, now fence.Instant) fence.Instant {
	if s.in == nil {
		return 0
	}
	return m.storedSince(s.Age, s.Last.Status == FinalityTimeout, now)
}

func (m *machine) storedSince(age time.Duration, timedOut bool, now fence.Instant) fence.Instant {
	if timedOut {
		age += max(0, m.set.FinalAfter)
	}
	return now.Add(-age)
}
