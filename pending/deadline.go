package pending

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
