package txlog

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"slices"
)

// What a Tree and a Pile have in common: the order of items, and the texts that are hashed.

const (
	mostParts  = 1 << placeBits // of a fork
	placeBits  = 3              // of a place, which say in which part it is
	lowest     = 64 / placeBits // depth: no bits are left
	mostInLeaf = 8              // items
	leafMark   = 0
	forkMark   = 1
)

// spot is an item's hash with its place.
type spot struct {
	place uint64
	item  Hash
}

// PlaceOf returns a place for what has a SHA-256: that of an item, or better of what stays the same when an item takes the place of another one.
func PlaceOf(h Hash) (place uint64) {
	for _, b := range h[:8] {
		place = place<<8 | uint64(b)
	}
	return place
}

// part returns in which part of a fork it is.
func (s spot) part(depth int) int { return int(s.place << (placeBits * depth) >> (64 - placeBits)) }

func (s spot) compare(other spot) int {
	if s.place != other.place {
		return cmp.Compare(s.place, other.place)
	}
	return bytes.Compare(s.item[:], other.item[:])
}

// sorted sorts the items of a leaf.
func sorted(items []spot) []spot {
	slices.SortFunc(items, spot.compare)
	return items
}

// spread brings items in the order of their parts, in place, and says where each part ends.
func spread(items []spot, depth int) (ends [mostParts]int) {
	var next [mostParts]int // of a part's own, the first place where none of its items may be
	for i := range items {
		ends[items[i].part(depth)]++
	}
	for i := 1; i < mostParts; i++ {
		next[i] = ends[i-1]
		ends[i] += ends[i-1]
	}
	for i := range mostParts {
		for next[i] < ends[i] {
			here := &items[next[i]]
			of := here.part(depth)
			if of != i {
				*here, items[next[of]] = items[next[of]], *here
			}
			next[of]++
		}
	}
	return ends
}

// forkText is what the hash of a fork is of: its mark, and the hashes of the parts. Zero is that of one without an item.
type forkText [1 + mostParts*sha256.Size]byte

func newForkText() forkText { return forkText{forkMark} }

func (t *forkText) set(part int, h Hash) { copy(t[1+part*len(h):], h[:]) }

func (t *forkText) sum() Hash { return sha256.Sum256(t[:]) }

// sumOfLeaf returns the hash of a leaf's items, which are sorted: zero if there is none.
func sumOfLeaf(items []spot) Hash {
	if len(items) == 0 {
		return Hash{}
	}
	var room [1 + mostInLeaf*sha256.Size]byte // as many as there are, but where places are the same
	text := append(room[:0], leafMark)
	for i := range items {
		text = append(text, items[i].item[:]...)
	}
	return sha256.Sum256(text)
}
