package pending

import (
	"cmp"
	"slices"
)

// line holds slots by nonce and in order. Under load, each input visits thousands of them.
type line struct {
	by    map[uint64]*slot
	order []*slot
}

func newLine() line { return line{by: map[uint64]*slot{}} }

func (l *line) get(index uint64) *slot { return l.by[index] }

// add inserts a slot whose nonce is not in the line.
func (l *line) add(s *slot) {
	l.by[s.Index] = s
	at := len(l.order)
	if at > 0 && l.order[at-1].Index > s.Index {
		at, _ = slices.BinarySearchFunc(l.order, s.Index, compareIndex)
	}
	l.order = slices.Insert(l.order, at, s)
}

// all returns the slots, lowest nonce first. The result is valid until the next change.
func (l *line) all() []*slot { return l.order }

// from returns the slots from a nonce on.
func (l *line) from(index uint64) []*slot {
	at, _ := slices.BinarySearchFunc(l.order, index, compareIndex)
	return l.order[at:]
}

// sweep removes the slots for which out returns true.
func (l *line) sweep(out func(*slot) bool) {
	l.order = slices.DeleteFunc(l.order, func(s *slot) bool {
		gone := out(s)
		if gone {
			delete(l.by, s.Index)
		}
		return gone
	})
}

func (l *line) clear() {
	clear(l.by)
	l.order = nil
}

func compareIndex(s *slot, index uint64) int { return cmp.Compare(s.Index, index) }
