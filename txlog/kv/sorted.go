package kv

import (
	"iter"
	"slices"
	"sort"
)

// sorted keeps keys in order, in pieces, so that one more does not move all others.
type sorted struct{ pieces [][]string }

const mostInPiece = 512

// place returns where a key is, or would be.
func (x *sorted) place(key string) (piece, at int, is bool) {
	piece = sort.Search(len(x.pieces), func(i int) bool { return x.pieces[i][len(x.pieces[i])-1] >= key })
	if piece == len(x.pieces) {
		return piece, 0, false
	}
	at, is = slices.BinarySearch(x.pieces[piece], key)
	return piece, at, is
}

func (x *sorted) insert(key string) {
	piece, at, is := x.place(key)
	switch {
	case is:
		return
	case len(x.pieces) == 0:
		x.pieces = [][]string{{key}}
		return
	case piece == len(x.pieces):
		piece--
		at = len(x.pieces[piece])
	}
	grown := slices.Insert(x.pieces[piece], at, key)
	x.pieces[piece] = grown
	if half := len(grown) / 2; len(grown) > mostInPiece {
		x.pieces[piece] = slices.Clone(grown[:half])
		x.pieces = slices.Insert(x.pieces, piece+1, slices.Clone(grown[half:]))
	}
}

func (x *sorted) remove(key string) {
	piece, at, is := x.place(key)
	if !is {
		return
	}
	x.pieces[piece] = slices.Delete(x.pieces[piece], at, at+1)
	if len(x.pieces[piece]) == 0 {
		x.pieces = slices.Delete(x.pieces, piece, piece+1)
	}
}

// from iterates over the keys that are not before one.
func (x *sorted) from(key string) iter.Seq[string] {
	return func(yield func(string) bool) {
		piece, at, _ := x.place(key)
		for ; piece < len(x.pieces); piece++ {
			for _, k := range x.pieces[piece][at:] {
				if !yield(k) {
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
		n += len(p)
	}
	return n
}

// with returns how many keys begin with a prefix.
func (x *sorted) with(prefix string) int {
	end := []byte(prefix)
	for len(end) > 0 && end[len(end)-1] == 0xff {
		end = end[:len(end)-1]
	}
	all := 0
	for _, p := range x.pieces {
		all += len(p)
	}
	if len(end) == 0 {
		return all - x.before(prefix)
	}
	end[len(end)-1]++
	return x.before(string(end)) - x.before(prefix)
}
