package txlog

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"iter"
	"math"
	"math/bits"
	"slices"
	"sync"
)

// Tree is the hash of a set of items, kept while items come and go. Equal sets have equal hashes, in whatever order their items came, and
// two sets with one hash are two texts with one SHA-256, also if all the items are of one's own choice: a head commits to a state whose
// keys its users choose, and anybody that may join a log may serve its state to others. A sum or an XOR of hashes is no such hash: by a
// generalised birthday (Wagner 2002) another set with the same sum is found in minutes.
//
// It is a Merkle tree over the items' hashes, in the order of their places. Few items are a leaf, whose hash is that of theirs; more are
// eight parts by the next three bits of their places, and the hash is that of the parts' hashes. So its shape says which items there are
// and nothing of how they came, and one change costs the hashes of the parts that it is in: some six among 100,000 items. Hashes are
// computed when they are asked for.
//
// A place is part of no hash: it comes of the item, so that equal sets have equal places. Places that many items share, or begin alike
// with, cost time and nothing else.
//
// The zero value is the tree of the empty set.
type Tree struct {
	all   part
	hash  Hash
	known bool // whether it is the hash of all
}

const (
	mostInLeaf = 8 // items, and parts of a fork
	placeBits  = 3 // of a place, which say in which part it is
	lowest     = 64 / placeBits
	leafMark   = 0
	forkMark   = 1
)

// part is a leaf, or a fork. It is a fork exactly if it has more items than a leaf has room for, and its places have bits left.
type part struct {
	*fork

	leaf []spot // sorted
}

type fork struct {
	text  [1 + mostInLeaf*sha256.Size]byte // forkMark and the hashes of the parts: zero for one without an item
	parts [mostInLeaf]part
	stale uint8 // a bit for each part whose hash in the text is an old one
	count int   // items
}

type spot struct {
	place uint64
	item  Hash
}

// part returns in which part of a fork it is.
func (s spot) part(depth int) int { return int(s.place << (placeBits * depth) >> (64 - placeBits)) }

func (s spot) compare(other spot) int {
	if s.place != other.place {
		return cmp.Compare(s.place, other.place)
	}
	return bytes.Compare(s.item[:], other.item[:])
}

// Add adds an item.
func (t *Tree) Add(item []byte) {
	h := sha256.Sum256(item)
	t.Swap(PlaceOf(h), Hash{}, h)
}

// Remove takes out an item that was added.
func (t *Tree) Remove(item []byte) {
	h := sha256.Sum256(item)
	t.Swap(PlaceOf(h), h, Hash{})
}

// PlaceOf returns a place for what has a SHA-256: that of an item, or better of what stays the same when an item takes the place of another one.
func PlaceOf(h Hash) (place uint64) {
	for _, b := range h[:8] {
		place = place<<8 | uint64(b)
	}
	return place
}

// Swap puts an item in the place of another one. Both are the SHA-256 of one; the zero hash is none. What is not there is not taken out.
func (t *Tree) Swap(place uint64, before, after Hash) {
	t.known = false
	t.all.swap(spot{place, before}, spot{place, after}, 0)
}

// Fill adds many items with their places, as they come: what Swap does for each, with all processors.
func (t *Tree) Fill(items iter.Seq2[uint64, Hash]) {
	var parts [mostInLeaf][]spot
	n := 0
	for place, item := range items {
		s := spot{place, item}
		parts[s.part(0)] = append(parts[s.part(0)], s)
		n++
	}
	if t.all.fork != nil || len(t.all.leaf) > 0 || n <= mostInLeaf {
		for _, s := range slices.Concat(parts[:]...) {
			t.Swap(s.place, Hash{}, s.item)
		}
		return
	}
	t.known, t.all.fork = false, newFork(n)
	var beside sync.WaitGroup
	for i := range parts {
		if len(parts[i]) == 0 {
			continue
		}
		t.all.stale |= 1 << i
		beside.Go(func() {
			slices.SortFunc(parts[i], spot.compare)
			p := &t.all.parts[i]
			if p.leaf = parts[i]; len(p.leaf) > mostInLeaf {
				p.divide(1)
				p.settle(new(int(math.MaxInt)))
			}
		})
	}
	beside.Wait()
}

// Hash returns the hash of all items.
func (t *Tree) Hash() Hash {
	t.Settle(math.MaxInt)
	return t.hash
}

// Settle computes so many of the hashes of parts that are not known, and reports whether all are: then Hash costs nothing. So what has many
// items can be hashed little by little.
func (t *Tree) Settle(most int) (done bool) {
	if t.known {
		return true
	}
	if t.all.fork != nil && !t.all.settle(&most) {
		return false
	}
	t.hash, t.known = t.all.hash(), true
	return true
}

// swap reports how many items there are more.
func (p *part) swap(before, after spot, depth int) (more int) {
	if p.fork == nil {
		more = p.exchange(before, after)
		if len(p.leaf) > mostInLeaf && depth < lowest {
			p.divide(depth)
		}
		return more
	}
	i := after.part(depth)
	p.stale |= 1 << i
	more = p.parts[i].swap(before, after, depth+1)
	if p.count += more; p.count <= mostInLeaf {
		p.leaf, p.fork = p.join(nil), nil
	}
	return more
}

// exchange is swap in a leaf.
func (p *part) exchange(before, after spot) (more int) {
	if !before.item.IsZero() {
		if at, is := p.find(before); is {
			p.leaf = slices.Delete(p.leaf, at, at+1)
			more--
		}
	}
	if !after.item.IsZero() {
		at, _ := p.find(after)
		p.leaf = slices.Insert(p.leaf, at, after)
		more++
	}
	return more
}

func (p *part) find(s spot) (at int, is bool) {
	return slices.BinarySearchFunc(p.leaf, s, spot.compare)
}

func newFork(items int) *fork {
	f := &fork{count: items}
	f.text[0] = forkMark
	return f
}

// divide makes a fork of a leaf.
func (p *part) divide(depth int) {
	f := newFork(len(p.leaf))
	for rest := p.leaf; len(rest) > 0; {
		i, n := rest[0].part(depth), 1
		for n < len(rest) && rest[n].part(depth) == i {
			n++
		}
		below := &f.parts[i]
		below.leaf = rest[:n:n] // nobody else has them
		if n > mostInLeaf && depth+1 < lowest {
			below.divide(depth + 1)
		}
		f.stale |= 1 << i
		rest = rest[n:]
	}
	p.fork, p.leaf = f, nil
}

// join appends the items of a part, in their order.
func (p *part) join(all []spot) []spot {
	if p.fork == nil {
		return append(all, p.leaf...)
	}
	for i := range p.parts {
		all = p.parts[i].join(all)
	}
	return all
}

// settle brings the text up to date, with so many hashes, and reports whether it is.
func (f *fork) settle(most *int) (done bool) {
	for f.stale != 0 {
		i := bits.TrailingZeros8(f.stale)
		p := &f.parts[i]
		if p.fork != nil && !p.settle(most) || *most <= 0 {
			return false
		}
		*most--
		h := p.hash()
		copy(f.text[1+i*len(h):], h[:])
		f.stale &^= 1 << i
	}
	return true
}

// hash returns the hash of a part whose text is up to date: zero if it has no item.
func (p *part) hash() Hash {
	switch {
	case p.fork != nil:
		return sha256.Sum256(p.text[:])
	case len(p.leaf) == 0:
		return Hash{}
	}
	var room [1 + mostInLeaf*sha256.Size]byte // as many as there are, but where places are the same
	text := append(room[:0], leafMark)
	for _, s := range p.leaf {
		text = append(text, s.item[:]...)
	}
	return sha256.Sum256(text)
}
