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
	last   where  // of the key that was looked up last
}

// where is the place of a key: a piece, and an index in it.
type where struct{ piece, at int }

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
func (x *sorted) place(key string) (w where, is bool) {
	w.piece = sort.Search(len(x.pieces), func(i int) bool { p := x.pieces[i].held; return p[len(p)-1].key() >= key })
	if w.piece == len(x.pieces) {
		return w, false
	}
	w.at, is = slices.BinarySearchFunc(x.pieces[w.piece].held, key, func(v held, key string) int { return strings.Compare(v.key(), key) })
	return w, is
}

// find is place for who may change the store: one goal looks its key up four times, so the place where the last one was is tried first.
func (x *sorted) find(key string) (w where, is bool) {
	if is, fits := x.fits(x.last, key); fits {
		return x.last, is
	}
	x.last, is = x.place(key)
	return x.last, is
}

// fits reports whether a key is at a place, or would be there, between two others.
func (x *sorted) fits(w where, key string) (is, fits bool) {
	if w.piece >= len(x.pieces) || w.at >= len(x.pieces[w.piece].held) {
		return false, false
	}
	all := x.pieces[w.piece].held[:w.at+1]
	switch here := all[w.at].key(); {
	case here == key:
		return true, true
	case here < key || w.at == 0:
		return false, false
	}
	return false, all[w.at-1].key() < key
}

// get returns the entry of a key; empty: there is none.
func (x *sorted) get(key string) held {
	w, is := x.place(key)
	return x.at(w, is)
}

// look is get, for who may change the store.
func (x *sorted) look(key string) held {
	w, is := x.find(key)
	return x.at(w, is)
}

func (x *sorted) at(w where, is bool) held {
	if is {
		return x.pieces[w.piece].held[w.at]
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
	w, is := x.find(v.key())
	i, at := w.piece, w.at
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
	w, is := x.find(key)
	if !is {
		return
	}
	x.count--
	p := x.own(w.piece)
	p.held = slices.Delete(p.held, w.at, w.at+1)
	if len(p.held) == 0 {
		x.pieces = slices.Delete(x.pieces, w.piece, w.piece+1)
	}
}

// from iterates over the values whose keys are not before one.
func (x *sorted) from(key string) iter.Seq[held] {
	return func(yield func(held) bool) {
		w, _ := x.place(key)
		for ; w.piece < len(x.pieces); w.piece++ {
			for _, v := range x.pieces[w.piece].held[w.at:] {
				if !yield(v) {
					return
				}
			}
			w.at = 0
		}
	}
}

// before returns how many keys are before one.
func (x *sorted) before(key string) int {
	w, _ := x.place(key)
	n := w.at
	for _, p := range x.pieces[:w.piece] {
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
