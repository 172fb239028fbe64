package book

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/conchhq/conch/internal/splitmix"
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
)

// ring keeps states in the order of their names, as a circle. Names are hashes, so they are spread evenly and the first
// bits of one tell its place in the table: every step costs the same however many states there are. The order does not
// depend on the way in which the states came, so equal views have equal orders.
type ring struct {
	table [][]*domain.State // 2^bits parts of the circle, each sorted
	bits  uint
	size  int
}

// position is a place on the circle.
type position uint64

// place draws a position from a seed. Seeds that follow each other are far apart.
func place(seed uint64) position { return position(splitmix.Mix(seed, 0)) }

func placeOf(id ledger.StateID) position { return position(binary.BigEndian.Uint64(id[:])) }

// before reports whether one state comes before another on the way round that begins here.
func (p position) before(one, other ledger.StateID) bool {
	a, b := placeOf(one)-p, placeOf(other)-p
	return a < b || a == b && bytes.Compare(one[:], other[:]) < 0
}

func (r *ring) part(p position) int { return int(p >> (64 - r.bits)) }

// find returns the part and the index at which a state is, or would be.
func (r *ring) find(id ledger.StateID) (part, at int, is bool) {
	part = r.part(placeOf(id))
	at, is = slices.BinarySearchFunc(r.table[part], id, func(s *domain.State, id ledger.StateID) int { return s.ID.Compare(id) })
	return part, at, is
}

func (r *ring) add(s *domain.State) {
	if r.table == nil {
		r.table = make([][]*domain.State, 1)
	}
	part, at, is := r.find(s.ID)
	if is {
		return
	}
	r.table[part] = slices.Insert(r.table[part], at, s)
	if r.size++; r.size > 2*len(r.table) {
		r.resize(r.bits + 1)
	}
}

func (r *ring) remove(id ledger.StateID) {
	if r.size == 0 {
		return
	}
	part, at, is := r.find(id)
	if !is {
		return
	}
	r.table[part] = slices.Delete(r.table[part], at, at+1)
	if r.size--; r.bits > 0 && 4*r.size < len(r.table) {
		r.resize(r.bits - 1)
	}
}

// resize makes another table. Twice as large or half as large, it costs a few steps for each state that came or went.
func (r *ring) resize(bits uint) {
	old := r.table
	r.table, r.bits = make([][]*domain.State, 1<<bits), bits
	for _, part := range old {
		for _, s := range part {
			to := r.part(placeOf(s.ID))
			r.table[to] = append(r.table[to], s)
		}
	}
}

// cursor is on the way round a ring.
type cursor struct {
	of       *ring
	part, at int
	left     int // states that it has not passed
}

// from returns a cursor at the first state from a position on. The ring must not change while it is used.
func (r *ring) from(p position) cursor {
	if r == nil || r.size == 0 {
		return cursor{}
	}
	c := cursor{of: r, part: r.part(p), left: r.size}
	for c.at < len(r.table[c.part]) && placeOf(r.table[c.part][c.at].ID) < p {
		c.at++
	}
	return c.settled()
}

// settled passes parts that are empty, or ended.
func (c cursor) settled() cursor {
	for c.left > 0 && c.at >= len(c.of.table[c.part]) {
		c.part, c.at = (c.part+1)%len(c.of.table), 0
	}
	return c
}

// state returns where the cursor is, nil at the end.
func (c cursor) state() *domain.State {
	if c.left == 0 {
		return nil
	}
	return c.of.table[c.part][c.at]
}

func (c cursor) next() cursor {
	c.left--
	c.at++
	return c.settled()
}

// index finds states by their labels.
type index map[string]*ring

func (x index) add(label string, s *domain.State) {
	r := x[label]
	if r == nil {
		r = &ring{}
		x[label] = r
	}
	r.add(s)
}

func (x index) remove(label string, id ledger.StateID) {
	if r := x[label]; r != nil {
		if r.remove(id); r.size == 0 {
			delete(x, label)
		}
	}
}

// label asks the rules for a label. Contents come from other members: on what makes the rules panic it is empty.
func label(rules domain.Rules, s domain.State) (label string) {
	defer func() {
		if recover() != nil {
			label = ""
		}
	}()
	return rules.Label(s.Data)
}
