package kv

import (
	"iter"
	"slices"
	"sort"
	"strings"
)

// sorted keeps values in the order of their keys, in pieces, so that one more does not move all others. A view shares the pieces: one
// that is to change is copied first.
type sorted struct {
	pieces []*piece
	count  int
	views  uint64 // that were taken
}

type piece struct {
	views uint64 // that had been taken when it was made: none of them has it
	held  []held
}

const mostInPiece = 512

// view returns what is there now, for others to read.
func (x *sorted) view() sorted {
	x.views++
	return sorted{pieces: slices.Clone(x.pieces), count: x.count}
}

// place returns where a key is, or would be.
func (x *sorted) place(key string) (piece, at int, is bool) {
	piece = sort.Search(len(x.pieces), func(i int) bool { p := x.pieces[i].held; return p[len(p)-1].key() >= key })
	if piece == len(x.pieces) {
		return piece, 0, false
	}
	at, is = slices.BinarySearchFunc(x.pieces[piece].held, key, func(v held, key string) int { return strings.Compare(v.key(), key) })
	return piece, at, is
}

// get returns the entry of a key; empty: there is none.
func (x *sorted) get(key string) held {
	if piece, at, is := x.place(key); is {
		return x.pieces[piece].held[at]
	}
	return ""
}

// own returns a piece that may be changed.
func (x *sorted) own(i int) *piece {
	if p := x.pieces[i]; p.views < x.views {
		x.pieces[i] = &piece{views: x.views, held: slices.Clone(p.held)}
	}
	return x.pieces[i]
}

// put sets the value of a key.
func (x *sorted) put(v held) {
	i, at, is := x.place(v.key())
	if len(x.pieces) == 0 {
		x.pieces = []*piece{{views: x.views}}
	} else if i == len(x.pieces) {
		i--
		at = len(x.pieces[i].held)
	}
	p := x.own(i)
	if is {
		p.held[at] = v
		return
	}
	x.count++
	p.held = slices.Insert(p.held, at, v)
	if half := len(p.held) / 2; len(p.held) > mostInPiece {
		x.pieces = slices.Insert(x.pieces, i+1, &piece{views: x.views, held: slices.Clone(p.held[half:])})
		p.held = slices.Clone(p.held[:half])
	}
}

// add puts a value whose key is after all others.
func (x *sorted) add(v held) {
	x.count++
	last := len(x.pieces) - 1
	if last < 0 || len(x.pieces[last].held) >= mostInPiece/2 {
		last++
		x.pieces = append(x.pieces, &piece{views: x.views, held: make([]held, 0, mostInPiece/2)})
	}
	p := x.own(last)
	p.held = append(p.held, v)
}

func (x *sorted) remove(key string) {
	i, at, is := x.place(key)
	if !is {
		return
	}
	x.count--
	p := x.own(i)
	p.held = slices.Delete(p.held, at, at+1)
	if len(p.held) == 0 {
		x.pieces = slices.Delete(x.pieces, i, i+1)
	}
}

// from iterates over the values whose keys are not before one.
func (x *sorted) from(key string) iter.Seq[held] {
	return func(yield func(held) bool) {
		piece, at, _ := x.place(key)
		for ; piece < len(x.pieces); piece++ {
			for _, v := range x.pieces[piece].held[at:] {
				if !yield(v) {
					return
				}
			}
			at = 0
		}
	}
}

// before returns how many keys are before one.
func (x *sorted) before(key string) int {
	piece, n, _ := x.place(key)
	for _, p := range x.pieces[:piece] {
		n += len(p.held)
	}
	return n
}

// with returns how many keys begin with a prefix.
func (x *sorted) with(prefix string) int {
	end := []byte(prefix)
	for len(end) > 0 && end[len(end)-1] == 0xff {
		end = end[:len(end)-1]
	}
	if len(end) == 0 {
		return x.count - x.before(prefix)
	}
	end[len(end)-1]++
	return x.before(string(end)) - x.before(prefix)
}
