package pending

import "github.com/conchhq/conch/fence"

// deadline returns until when the call of a waiting intent is of use, if it is called back then.
func (r Record) deadline() Deadline {
	if r.Space != "" {
		return Deadline{}
	}
	return Deadline{LastBlock: r.LastBlock, Left: r.Left}
}

// setDue notes when the slot's call is of no use any more, given when it was read.
func (s *slot) setDue(now fence.Instant) {
	if s.Left > 0 {
		s.due = now.Add(s.Left)
	}
}

// callBack notes that the call of a slot in no block is of no use any more, if that is so. It stays so: a filler may have been sent since.
func (a *account) callBack(s *slot, now fence.Instant) {
	switch {
	case s.Late || s.due == 0 && s.LastBlock == 0:
	case s.due != 0 && now >= s.due, s.LastBlock > 0 && a.head.Number >= s.LastBlock:
		s.Late = true
	case s.due != 0:
		a.pace.remindAt(s.due)
	}
}

// isLate reports whether the call of an intent is of no use any more, at a height of the chain.
func (r Record) isLate(height uint64) bool {
	return r.Late || r.LastBlock > 0 && height >= r.LastBlock
}

// withoutLate returns the queue without the intents that are to get no slot any more, and those.
func (q Queue) withoutLate(height uint64) (left Queue, late []ID) {
	left = Queue{Left: q.Left, Saving: q.Saving}
	if q.Saving != nil && q.Saving.isLate(height) {
		left.Saving, late = nil, append(late, q.Saving.ID)
	}
	for _, w := range q.Oldest {
		if !w.isLate(height) {
			left.Oldest = append(left.Oldest, w)
		} else if q.Saving == nil || q.Saving.ID != w.ID {
			late = append(late, w.ID)
		}
	}
	return left, late
}
