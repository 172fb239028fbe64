package txlog

import "math"

// Pile hashes a set of items that does not change: it says what a Tree of them would, and costs much less than to make one. The hash is
// computed in steps, so that a state of many items keeps nobody waiting.
type Pile struct {
	all  heap
	room []spot // for the items that are hashed
}

// heap is a part of a pile: items as they came, or eight heaps by the next bits of their places.
type heap struct {
	full  [][]spot
	some  []spot // beside them
	parts *[mostParts]heap
	count int
	hash  Hash
	known bool
}

const (
	mostInHeap  = 1024 // items that are hashed at once: they stay in the processor's cache
	takenAtOnce = 64   // items for which there is new memory
)

// NewPile returns a pile for about so many items.
func NewPile(items int) *Pile {
	p := new(Pile)
	p.all.divide(items)
	return p
}

// divide prepares a heap for so many items.
func (h *heap) divide(items int) {
	if items <= mostInHeap {
		return
	}
	h.parts = new([mostParts]heap)
	for i := range h.parts {
		h.parts[i].divide(items / mostParts)
	}
}

// Add adds an item, of which it gets the SHA-256. Once a part of the pile is hashed, none may be added.
func (p *Pile) Add(place uint64, item Hash) {
	s, h := spot{place, item}, &p.all
	for depth := 0; h.parts != nil; depth++ {
		h.count++
		h = &h.parts[s.part(depth)]
	}
	h.count++
	if len(h.some) == cap(h.some) {
		if len(h.some) > 0 {
			h.full = append(h.full, h.some)
		}
		h.some = make([]spot, 0, takenAtOnce)
	}
	h.some = append(h.some, s)
}

// Hash returns the hash of all items.
func (p *Pile) Hash() Hash {
	p.Settle(math.MaxInt)
	return p.all.hash
}

// Settle hashes so many items, or a thousand more, and reports whether all are hashed: then Hash costs nothing.
func (p *Pile) Settle(most int) (done bool) {
	return p.settle(&p.all, &most, 0)
}

func (p *Pile) settle(h *heap, most *int, depth int) (done bool) {
	switch {
	case h.known:
		return true
	case *most <= 0:
		return false
	case h.count <= mostInHeap || depth == lowest:
		p.room = h.gather(p.room[:0])
		*most -= 1 + len(p.room)
		*h = heap{hash: sumOf(p.room, depth), known: true}
		return true
	case h.parts == nil: // more came than were said to come, or their places begin alike
		*most -= h.count / mostParts
		h.split(depth)
	}
	text := newForkText()
	for i := range h.parts {
		if !p.settle(&h.parts[i], most, depth+1) {
			return false
		}
		text.set(i, h.parts[i].hash)
	}
	*h = heap{hash: text.sum(), known: true}
	return true
}

// gather appends all items of a heap.
func (h *heap) gather(to []spot) []spot {
	if h.parts != nil {
		for i := range h.parts {
			to = h.parts[i].gather(to)
		}
		return to
	}
	for _, s := range h.full {
		to = append(to, s...)
	}
	return append(to, h.some...)
}

// split makes heaps of a heap's items.
func (h *heap) split(depth int) {
	items, from := h.gather(make([]spot, 0, h.count)), 0
	h.full, h.some, h.parts = nil, nil, new([mostParts]heap)
	for i, end := range spread(items, depth) {
		h.parts[i].some, h.parts[i].count = items[from:end], end-from
		from = end
	}
}

// sumOf returns the hash of items in any order, whose order it changes.
func sumOf(items []spot, depth int) Hash {
	if len(items) <= mostInLeaf || depth == lowest {
		return sumOfLeaf(sorted(items))
	}
	text, from := newForkText(), 0
	for i, end := range spread(items, depth) {
		text.set(i, sumOf(items[from:end], depth+1))
		from = end
	}
	return text.sum()
}
