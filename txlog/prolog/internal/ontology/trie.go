package ontology

import (
	"math/bits"
	"slices"
)

// trie keeps leaves by numbers of 64 bits, four bits at a time, in the order of the numbers. It is a value: what has another leaf is another trie, which shares
// with the first all but the way to that leaf. So it has the same form whatever has become of it before, and is at most sixteen nodes deep.
type trie[L leaf] struct {
	sub  *node[L]
	leaf L // without a node: all that there is
}

type leaf interface {
	comparable
	key() uint64
}

// node has what differs first in one digit. It has two parts at least.
type node[L leaf] struct {
	by    *owner
	begin uint64 // of all keys, with zeros from the digit on
	shift uint8  // where the digit is
	has   uint16 // the digits that there are
	parts []trie[L]
}

// owner may change the nodes that it has made, until somebody else may see them: then there is another owner. Nobody owns what no owner has made.
type owner struct{ _ byte }

const digit = 4

// fits reports whether a key begins as all keys of the node.
func (n *node[L]) fits(key uint64) bool { return (key^n.begin)>>n.shift>>digit == 0 }

// last is the largest key that fits.
func (n *node[L]) last() uint64 { return n.begin | (1<<n.shift<<digit - 1) }

// place returns where the part of a key is, or would be.
func (n *node[L]) place(key uint64) (at int, is bool) {
	bit := uint16(1) << (key >> n.shift & (1<<digit - 1))
	return bits.OnesCount16(n.has & (bit - 1)), n.has&bit != 0
}

// own returns the node, or a copy of it, that an owner may change and that has room for more parts.
func (n *node[L]) own(by *owner, more int) *node[L] {
	if by != nil && n.by == by && len(n.parts)+more <= cap(n.parts) {
		return n
	}
	made := blank[L](len(n.parts) + more)
	made.by, made.begin, made.shift, made.has = by, n.begin, n.shift, n.has
	made.parts = append(made.parts, n.parts...)
	return made
}

// blank returns a node with room for so many parts, all in one piece of memory.
func blank[L leaf](parts int) *node[L] {
	switch {
	case parts <= 2:
		made := &struct {
			of   node[L]
			room [2]trie[L]
		}{}
		made.of.parts = made.room[:0]
		return &made.of
	case parts <= 4:
		made := &struct {
			of   node[L]
			room [4]trie[L]
		}{}
		made.of.parts = made.room[:0]
		return &made.of
	case parts <= 8:
		made := &struct {
			of   node[L]
			room [8]trie[L]
		}{}
		made.of.parts = made.room[:0]
		return &made.of
	}
	made := &struct {
		of   node[L]
		room [1 << digit]trie[L]
	}{}
	made.of.parts = made.room[:0]
	return &made.of
}

func (t trie[L]) empty() bool { return t == trie[L]{} }

// get returns the leaf of a key, or none.
func (t trie[L]) get(key uint64) (found L) {
	for t.sub != nil {
		i, is := t.sub.place(key)
		if !is {
			return found
		}
		t = t.sub.parts[i]
	}
	var none L
	if t.leaf != none && t.leaf.key() == key {
		return t.leaf
	}
	return found
}

// first returns the leaf that comes first, or none.
func (t trie[L]) first() L {
	for t.sub != nil {
		t = t.sub.parts[0]
	}
	return t.leaf
}

// last returns the leaf that comes last, or none.
func (t trie[L]) last() L {
	for t.sub != nil {
		t = t.sub.parts[len(t.sub.parts)-1]
	}
	return t.leaf
}

// with returns a trie that has a leaf, instead of one that has its key.
func (t trie[L]) with(l L, by *owner) trie[L] {
	var none L
	switch key := l.key(); {
	case t.sub != nil && !t.sub.fits(key):
		return forked(t, t.sub.begin, l, by)
	case t.sub != nil:
		i, is := t.sub.place(key)
		if is {
			n := t.sub.own(by, 0)
			n.parts[i] = n.parts[i].with(l, by)
			return trie[L]{sub: n}
		}
		n := t.sub.own(by, 1)
		n.parts = slices.Insert(n.parts, i, trie[L]{leaf: l})
		n.has |= 1 << (key >> n.shift & (1<<digit - 1))
		return trie[L]{sub: n}
	case t.leaf != none && t.leaf.key() != key:
		return forked(t, t.leaf.key(), l, by)
	}
	return trie[L]{leaf: l}
}

// forked returns a trie and a leaf that have not begun alike since some digit.
func forked[L leaf](t trie[L], other uint64, l L, by *owner) trie[L] {
	key := l.key()
	n := blank[L](2)
	n.by, n.shift = by, uint8(63-bits.LeadingZeros64(key^other))/digit*digit
	n.begin = key >> n.shift >> digit << n.shift << digit
	if key < other {
		n.parts = append(n.parts, trie[L]{leaf: l}, t)
	} else {
		n.parts = append(n.parts, t, trie[L]{leaf: l})
	}
	for _, k := range []uint64{key, other} {
		n.has |= 1 << (k >> n.shift & (1<<digit - 1))
	}
	return trie[L]{sub: n}
}

// without returns a trie that has not the leaf of a key.
func (t trie[L]) without(key uint64, by *owner) trie[L] {
	var none L
	if t.sub == nil {
		if t.leaf != none && t.leaf.key() == key {
			return trie[L]{}
		}
		return t
	}
	i, is := t.sub.place(key)
	if !is {
		return t
	}
	part := t.sub.parts[i].without(key, by)
	switch {
	case part == t.sub.parts[i]: // nothing is other, or its owner has changed it
		return t
	case part.empty() && len(t.sub.parts) == 2:
		return t.sub.parts[1-i]
	}
	n := t.sub.own(by, 0)
	if n.parts[i] = part; part.empty() {
		n.parts = slices.Delete(n.parts, i, i+1)
		n.has &^= 1 << (key >> n.shift & (1<<digit - 1))
	}
	return trie[L]{sub: n}
}

// cursor goes through the leaves of a trie that nobody changes.
type cursor[L leaf] struct {
	of trie[L] // with a leaf alone: what is left
	in *node[L]
	at int // in it
}

func (t trie[L]) cursor() cursor[L] { return cursor[L]{of: t, in: t.sub} }

// next returns the next leaf, or none.
func (c *cursor[L]) next() (l L) {
	if c.of.sub == nil {
		l, c.of = c.of.leaf, trie[L]{}
		return l
	}
	for c.in != nil {
		if c.at == len(c.in.parts) {
			end := c.in.last()
			if c.in, c.at = nil, 0; end+1 != 0 {
				c.in, c.at = c.of.sub.seek(end + 1)
			}
			continue
		}
		part := c.in.parts[c.at]
		if c.at++; part.sub == nil {
			return part.leaf
		}
		c.in, c.at = part.sub, 0
	}
	return l
}

// seek returns where the first part is that has no keys before this one; nil: there is none.
func (n *node[L]) seek(key uint64) (in *node[L], at int) {
	for {
		if !n.fits(key) {
			if n.begin > key {
				return n, 0
			}
			return in, at
		}
		i, is := n.place(key)
		if is && n.parts[i].sub != nil {
			if i+1 < len(n.parts) {
				in, at = n, i+1
			}
			n = n.parts[i].sub
			continue
		}
		if is && n.parts[i].leaf.key() < key {
			i++
		}
		if i < len(n.parts) {
			return n, i
		}
		return in, at
	}
}

// each goes through the leaves, and reports whether to go on.
func (t trie[L]) each(yield func(L) bool) bool {
	var none L
	if t.sub == nil {
		return t.leaf == none || yield(t.leaf)
	}
	for _, part := range t.sub.parts {
		if !part.each(yield) {
			return false
		}
	}
	return true
}
