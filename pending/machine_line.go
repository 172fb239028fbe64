package pending

import (
	"cmp"
	"slices"
)

// line holds the slots in memory by nonce and in order. It decides nothing. Under load, each input visits thousands of them.
type line struct {
	by    map[uint64]*slot
	order []*slot
}

func newLine() line { return line{by: map[uint64]*slot{}} }

// slotAt returns the slot with a nonce, or nil.
func (l *line) slotAt(index uint64) *slot { return l.by[index] }

// addSlot inserts a slot whose nonce is not in the line.
func (l *line) addSlot(s *slot) {
	l.by[s.Index] = s
	at := len(l.order)
	if at > 0 && l.order[at-1].Index > s.Index {
		at, _ = slices.BinarySearchFunc(l.order, s.Index, compareIndex)
	}
	l.order = slices.Insert(l.order, at, s)
}

// mergeSlots inserts slots, which are in order and whose nonces are not in the line.
func (l *line) mergeSlots(more []*slot) {
	for _, s := range more {
		l.by[s.Index] = s
	}
	l.order = merge(l.order, more, func(a, b *slot) bool { return a.Index > b.Index })
}

// merge returns the elements of both lists in order. It takes over the first one.
func merge[T any](into, more []T, after func(a, b T) bool) []T {
	i, j := len(into)-1, len(more)-1
	into = append(into, more...)
	for at := len(into) - 1; j >= 0; at-- {
		if i >= 0 && after(into[i], more[j]) {
			into[at] = into[i]
			i--
			continue
		}
		into[at] = more[j]
		j--
	}
	return into
}

// inOrder returns the slots, lowest nonce first. The result is valid until the next change.
func (l *line) inOrder() []*slot { return l.order }

// slotsFrom returns the slots from a nonce on.
func (l *line) slotsFrom(index uint64) []*slot {
	at, _ := slices.BinarySearchFunc(l.order, index, compareIndex)
	return l.order[at:]
}

// sweepSlots removes the slots for which out returns true.
func (l *line) sweepSlots(out func(*slot) bool) {
	l.order = slices.DeleteFunc(l.order, func(s *slot) bool {
		gone := out(s)
		if gone {
			delete(l.by, s.Index)
		}
		return gone
	})
}

func (l *line) clearSlots() {
	clear(l.by)
	l.order = nil
}

func compareIndex(s *slot, index uint64) int { return cmp.Compare(s.Index, index) }
