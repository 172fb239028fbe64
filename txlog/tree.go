package txlog

import (
	"crypto/sha256"
	"iter"
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
// Why it commits: from the hash of all down, the text of each hash is that of a leaf or of a fork, as its first byte says, and says the hashes
// of all items or of all parts. Where two trees with one hash differ first, two texts have one SHA-256. A place is part of no hash: it comes of
// the item, so that equal sets have equal places. Places that many items share, or begin alike with, cost time and nothing else.
//
// The zero value is the tree of the empty set. A Pile hashes a set that does not change.
type Tree struct {
	all   part
	hash  Hash
	known bool // whether it is the hash of all
}

// part is a leaf, or a fork. It is a fork exactly if it has more items than a leaf has room for, and its places have bits left.
type part struct {
	*fork

	leaf []spot // sorted
}

type fork struct {
	text  forkText
	stale uint8 // a bit for each part whose hash in the text is an old one
	count int   // items
	parts [mostParts]part
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

// Swap puts an item in the place of another one. Both are the SHA-256 of one; the zero hash is none. What is not there is not taken out.
func (t *Tree) Swap(place uint64, before, after Hash) {
	t.known = false
	t.all.swap(spot{place, before}, spot{place, after}, 0)
}

// Fill adds many items with their places, as they come: what Swap does for each, with all processors.
func (t *Tree) Fill(items iter.Seq2[uint64, Hash]) {
	var some [mostParts][]spot
	n := 0
	for place, item := range items {
		s := spot{place, item}
		i := s.part(0)
		some[i] = append(some[i], s)
		n++
	}
	if t.all.fork != nil || len(t.all.leaf) > 0 || n <= mostInLeaf {
		for _, s := range slices.Concat(some[:]...) {
			t.Swap(s.place, Hash{}, s.item)
		}
		return
	}
	f := &fork{text: newForkText(), count: n}
	var beside sync.WaitGroup
	for i := range some {
		beside.Go(func() {
			var h Hash
			f.parts[i], h = grown(some[i], 1)
			f.text.set(i, h)
		})
	}
	beside.Wait()
	t.known, t.all.fork = false, f
}

// Hash returns the hash of all items.
func (t *Tree) Hash() Hash {
	if !t.known {
		t.hash, t.known = t.all.hash(), true
	}
	return t.hash
}

// swap reports how many items there are more.
func (p *part) swap(before, after spot, depth int) (more int) {
	if p.fork == nil {
		more = p.exchange(before, after)
		if len(p.leaf) > mostInLeaf && depth < lowest {
			*p, _ = grown(p.leaf, depth)
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
			if !after.item.IsZero() && p.alone(at) {
				p.leaf[at] = after
				return 0
			}
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

// alone reports whether no other item of a leaf has the place of one: then another item of that place is sorted where that one is.
func (p *part) alone(at int) bool {
	place := p.leaf[at].place
	return (at == 0 || p.leaf[at-1].place != place) && (at+1 == len(p.leaf) || p.leaf[at+1].place != place)
}

// grown makes the part of items in any order, with all its hashes. It keeps the items.
func grown(items []spot, depth int) (p part, h Hash) {
	if len(items) <= mostInLeaf || depth == lowest {
		p.leaf = sorted(items)
		return p, sumOfLeaf(p.leaf)
	}
	p.fork = &fork{text: newForkText(), count: len(items)}
	from := 0
	for i, end := range spread(items, depth) {
		p.parts[i], h = grown(items[from:end:end], depth+1) // nobody else has them
		p.text.set(i, h)
		from = end
	}
	return p, p.text.sum()
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

// hash brings the texts of a part up to date, and returns its hash.
func (p *part) hash() Hash {
	if p.fork == nil {
		return sumOfLeaf(p.leaf)
	}
	for ; p.stale != 0; p.stale &= p.stale - 1 {
		i := bits.TrailingZeros8(p.stale)
		p.text.set(i, p.parts[i].hash())
	}
	return p.text.sum()
}
