package ontology

import (
	"hash/maphash"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

// First is what clauses are looked up by: a first argument, of which a compound is its name and arity. The empty one is anything.
type First struct {
	of    term.Term // an Atom, an Int or a Float; of a compound its name
	arity int       // of a compound
}

// FirstOf returns it of some arguments.
func FirstOf(b *txlog.Budget, args []term.Term) First {
	if len(args) == 0 {
		return First{}
	}
	switch t := term.Deref(b, args[0]).(type) {
	case term.Atom, term.Int, term.Float:
		return First{of: t}
	case *term.Compound:
		return First{t.Name, len(t.Args)}
	}
	return First{}
}

func (f First) anything() bool { return f.of == nil }

// hash is another one in each process, so that nobody can make firsts that have the same one. Nothing that may be seen depends on it.
func (f First) hash() uint64 { return maphash.Comparable(seed, f) }

// bucket has the clauses whose first arguments have one hash.
type bucket struct {
	hash  uint64
	ranks trie[*Clause]
}

func (k *bucket) key() uint64 { return k.hash }

// put adds a clause to the index of first arguments.
func (p *Pred) put(c *Clause, by *owner) {
	if c.first.anything() {
		p.anything = p.anything.with(c, by)
		return
	}
	hash := c.first.hash()
	var alike trie[*Clause]
	if k := p.firsts.get(hash); k != nil {
		alike = k.ranks
	}
	p.firsts = p.firsts.with(&bucket{hash, alike.with(c, by)}, by)
}

// take takes a clause out of the index.
func (p *Pred) take(c *Clause, by *owner) {
	if c.first.anything() {
		p.anything = p.anything.without(c.key(), by)
		return
	}
	hash := c.first.hash()
	if left := p.firsts.get(hash).ranks.without(c.key(), by); left.empty() {
		p.firsts = p.firsts.without(hash, by)
	} else {
		p.firsts = p.firsts.with(&bucket{hash, left}, by)
	}
}

// least is how many clauses of a predicate are looked at one by one rather than by the index.
const least = 8

// Iter goes through the clauses that a predicate had when it began.
type Iter struct {
	first      First
	some, rest cursor[*Clause] // by the index those with the first argument, and those that take anything
	one, free  *Clause         // the next of each
}

// Each begins to go through the clauses that may have a first argument.
func (p *Pred) Each(b *txlog.Budget, first First) (it Iter) {
	if p == nil {
		return it
	}
	b.Spend(1)
	if it.first = first; first.anything() || p.count <= least {
		it.some = p.ranks.cursor()
	} else {
		if k := p.firsts.get(first.hash()); k != nil {
			it.some = k.ranks.cursor()
		}
		it.rest = p.anything.cursor()
		it.free = it.rest.next()
	}
	it.one = it.step()
	return it
}

// step returns the next one whose first argument may fit: all are looked at, or another one has its hash.
func (it *Iter) step() *Clause {
	for {
		c := it.some.next()
		if c == nil || c.first == it.first || c.first.anything() || it.first.anything() {
			return c
		}
	}
}

// More reports whether there is another clause.
func (it *Iter) More() bool { return it.one != nil || it.free != nil }

// Next returns the next clause; nil: there is none.
func (it *Iter) Next() *Clause {
	c := it.one
	if c == nil || it.free != nil && it.free.Rank < c.Rank {
		c, it.free = it.free, it.rest.next()
		return c
	}
	it.one = it.step()
	return c
}
