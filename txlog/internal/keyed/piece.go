package keyed

import (
	"encoding/binary"
	"slices"
	"strings"
)

// piece is some values in the order of their keys. It has of each key eight bytes that others do not begin with, as a number: so a key is
// looked up among numbers that lie side by side, and seldom by the keys themselves, which lie anywhere in memory.
type piece struct {
	views uint64 // that had been taken when it was made: none of them has it
	held  []Entry
	alike int      // bytes that all keys begin with, at least
	marks []uint64 // of each key, the next eight bytes
}

func newPiece(views uint64, all []Entry) *piece {
	p := &piece{views: views, held: all}
	p.mark()
	return p
}

// copied returns a copy, made when so many views had been taken.
func (p *piece) copied(views uint64) *piece {
	return &piece{views: views, held: slices.Clone(p.held), alike: p.alike, marks: slices.Clone(p.marks)}
}

// place returns where a key is, or would be.
func (p *piece) place(key string) (at int, is bool) {
	if len(p.held) == 0 {
		return 0, false
	}
	mark := uint64(0)
	if len(key) >= p.alike {
		mark = markOf(key, p.alike)
		if at, _ = slices.BinarySearch(p.marks, mark); at < len(p.held) && p.held[at].Key() == key {
			return at, true
		}
	}
	switch begin := p.held[0].Key()[:p.alike]; {
	case strings.HasPrefix(key, begin):
	case key < begin:
		return 0, false
	default:
		return len(p.held), false
	}
	end := at
	for end < len(p.marks) && p.marks[end] == mark {
		end++
	}
	n, is := slices.BinarySearchFunc(p.held[at:end], key, func(v Entry, key string) int { return strings.Compare(v.Key(), key) })
	return at + n, is
}

// insert makes room for a value.
func (p *piece) insert(at int, v Entry) {
	p.held, p.marks = slices.Insert(p.held, at, v), slices.Insert(p.marks, at, 0)
	p.markOne(at)
}

// set puts a value in the place of another one.
func (p *piece) set(at int, v Entry) {
	p.held[at] = v
	p.markOne(at)
}

func (p *piece) remove(at int) {
	p.held, p.marks = slices.Delete(p.held, at, at+1), slices.Delete(p.marks, at, at+1)
}

// markOne marks a key that has come. If it lies between two others, it begins as they do.
func (p *piece) markOne(at int) {
	if at == 0 || at == len(p.held)-1 {
		if p.common() < p.alike || len(p.held) == 1 {
			p.mark()
			return
		}
	}
	p.marks[at] = markOf(p.held[at].Key(), p.alike)
}

// mark marks all keys.
func (p *piece) mark() {
	p.alike, p.marks = p.common(), slices.Grow(p.marks[:0], len(p.held))
	for _, v := range p.held {
		p.marks = append(p.marks, markOf(v.Key(), p.alike))
	}
}

// common returns how many bytes all keys begin with.
func (p *piece) common() (n int) {
	first, last := p.held[0].Key(), p.held[len(p.held)-1].Key()
	for n < len(first) && n < len(last) && first[n] == last[n] {
		n++
	}
	return n
}

// markOf returns eight bytes of a key as a number. Keys that begin alike up to there are sorted as these numbers are, but for those with the
// same one.
func markOf(key string, from int) uint64 {
	var eight [8]byte
	copy(eight[:], key[from:])
	return binary.BigEndian.Uint64(eight[:])
}
