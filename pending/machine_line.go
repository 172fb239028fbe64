package pending

import (
	"cmp"
	"slices"
)

// line is the slots of a machine: by index, and in the order of their indices. There
// are thousands under load, and each input looks at all of them.
type line struct {
	by    map[uint64]*slot
	order []*slot
}

func newLine() line { return line{by: map[uint64]*slot{}} }

// get returns a slot, nil if there is none.
func (l *line) get(index uint64) *slot { return l.by[index] }

// add takes a slot in whose index has none.
func (l *line) add(s *slot) {
	l.by[s.Index] = s
	at := len(l.order)
	if at > 0 && l.order[at-1].Index > s.Index {
		at, _ = slices.BinarySearchFunc(l.order, s.Index, compareIndex)
	}
	l.order = slices.Insert(l.order, at, s)
}

// all are the slots, lowest first. It holds until the next change.
func (l *line) all() []*slot { return l.order }

// from are the slots with at least that index.
func (l *line) from(index uint64) []*slot {
	at, _ := slices.BinarySearchFunc(l.order, index, compareIndex)
	return l.order[at:]
}

// sweep takes out the slots that it is told to.
func (l *line) sweep(out func(*slot) bool) {
	l.order = slices.DeleteFunc(l.order, func(s *slot) bool {
		gone := out(s)
		if gone {
			delete(l.by, s.Index)
		}
		return gone
	})
}

// clear takes all out.
func (l *line) clear() {
	clear(l.by)
	l.order = nil
}

func compareIndex(s *slot, index uint64) int { return cmp.Compare(s.Index, index) }
