package keyed

import (
	"iter"
	"slices"
)

// sorted keeps values in the order of their keys, in pieces, so that one more does not move all others. A view shares the pieces: one
// that is to change is copied first.
type sorted struct {
	pieces []*piece
	lasts  piece // the last value of each piece
	count  int
	views  uint64 // that were taken
	last   where  // of the key that was looked up last
}

// where is the place of a key: a piece, and an index in it.
type where struct{ piece, at int }

const mostInPiece = 512

// sortedOf returns what pieces have, none of which is empty.
func sortedOf(views uint64, pieces []*piece) sorted {
	x := sorted{pieces: pieces, views: views}
	lasts := make([]Entry, len(pieces))
	for i, p := range pieces {
		lasts[i] = p.held[len(p.held)-1]
		x.count += len(p.held)
	}
	if len(pieces) > 0 {
		x.lasts = *newPiece(views, lasts)
	}
	return x
}

// view returns what is there now, for others to read.
func (x *sorted) view() sorted {
	x.views++
	return sorted{pieces: slices.Clone(x.pieces), lasts: x.lasts, count: x.count}
}

// place returns where a key is, or would be.
func (x *sorted) place(key string) (w where, is bool) {
	if w.piece, _ = x.lasts.place(key); w.piece < len(x.pieces) {
		w.at, is = x.pieces[w.piece].place(key)
	}
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
	switch here := all[w.at].Key(); {
	case here == key:
		return true, true
	case here < key || w.at == 0:
		return false, false
	}
	return false, all[w.at-1].Key() < key
}

// get returns the entry of a key; empty: there is none.
func (x *sorted) get(key string) Entry {
	w, is := x.place(key)
	return x.at(w, is)
}

// look is get, for who may change the store.
func (x *sorted) look(key string) Entry {
	w, is := x.find(key)
	return x.at(w, is)
}

func (x *sorted) at(w where, is bool) Entry {
	if is {
		return x.pieces[w.piece].held[w.at]
	}
	return ""
}

// own returns a piece that may be changed.
func (x *sorted) own(i int) *piece {
	if p := x.pieces[i]; p.views < x.views {
		x.pieces[i] = p.copied(x.views)
	}
	return x.pieces[i]
}

// ownLasts returns the last values, which may be changed.
func (x *sorted) ownLasts() *piece {
	if x.lasts.views < x.views {
		x.lasts = *x.lasts.copied(x.views)
	}
	return &x.lasts
}

// put sets the value of a key.
func (x *sorted) put(v Entry) {
	w, is := x.find(v.Key())
	if w.piece == len(x.pieces) {
		if w.piece == 0 {
			*x = sortedOf(x.views, []*piece{newPiece(x.views, []Entry{v})})
			return
		}
		w.piece--
		w.at = len(x.pieces[w.piece].held)
	}
	p := x.own(w.piece)
	if is {
		p.set(w.at, v)
	} else {
		x.count++
		p.insert(w.at, v)
	}
	if x.ends(w.piece); len(p.held) > mostInPiece {
		x.halve(w.piece)
	}
}

// halve makes two pieces of one.
func (x *sorted) halve(i int) {
	p := x.pieces[i]
	half := len(p.held) / 2
	x.pieces = slices.Insert(x.pieces, i+1, newPiece(x.views, slices.Clone(p.held[half:])))
	x.ownLasts().insert(i+1, p.held[len(p.held)-1])
	x.pieces[i] = newPiece(x.views, slices.Clone(p.held[:half]))
	x.ends(i)
}

// ends takes note of a piece's last value, which may be another one.
func (x *sorted) ends(i int) {
	all := x.pieces[i].held
	if last := all[len(all)-1]; x.lasts.held[i] != last {
		x.ownLasts().set(i, last)
	}
}
func (x *sorted) remove(key string) {
	w, is := x.find(key)
	if !is {
		return
	}
	x.count--
	p := x.own(w.piece)
	if p.remove(w.at); len(p.held) > 0 {
		x.ends(w.piece)
		return
	}
	x.pieces = slices.Delete(x.pieces, w.piece, w.piece+1)
	x.ownLasts().remove(w.piece)
}

// from iterates over the values whose keys are not before one.
func (x *sorted) from(key string) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
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
