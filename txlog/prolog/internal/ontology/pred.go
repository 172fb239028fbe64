// Package ontology has the clauses of an ontology as a solver sees them: predicates that never change, of which a goal makes others on a draft. What they are
// made of are the keys and values of a [keyed.Store]; see keys.go.
package ontology

import (
	"strings"
	"sync/atomic"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

// Name is the name of a predicate, with its arity.
type Name struct {
	Atom  term.Atom
	Arity int
}

// Compare returns how two names are sorted.
func (n Name) Compare(other Name) int {
	if n.Atom == other.Atom {
		return n.Arity - other.Arity
	}
	return strings.Compare(n.Atom.Name(), other.Atom.Name())
}

// Clause is one of a predicate. Its rank is its name in a diff: assertz takes the last rank and one more, asserta the first and one less. Several goroutines may
// read it. The pointer is who it is: another clause may have its rank once it is gone.
type Clause struct {
	Rank int64
	Raw  string

	code  atomic.Pointer[term.Clause]
	first First
}

// NewClause returns a clause of its bytes.
func NewClause(rank int64, raw string) *Clause {
	c := &Clause{Rank: rank, Raw: raw}
	c.first.of, c.first.arity = term.DecodeFirst(raw)
	return c
}

func (c *Clause) key() uint64 { return keyOf(c.Rank) }

// keyOf returns a rank as a number that is sorted as it is.
func keyOf(rank int64) uint64 { return uint64(rank) ^ 1<<63 }

// Code returns what the bytes say. It is read once, when it is first asked for.
func (c *Clause) Code(b *txlog.Budget) *term.Clause {
	b.Spend(len(c.Raw) / 256) // each time, since a goal takes the same steps on every node
	if code := c.code.Load(); code != nil {
		return code
	}
	code, is := term.Decode(c.Raw)
	if !is { // an entry that was checked when it came
		code = &term.Clause{Body: term.Fail}
	}
	c.code.Store(code)
	return code
}

// Pred is a predicate that exists. It never changes.
type Pred struct {
	ranks    trie[*Clause] // all, by rank
	firsts   trie[*bucket] // those with a first argument, by its hash
	anything trie[*Clause] // those whose first argument may be anything, or that have none, by rank
	count    int
}

// Count returns the number of clauses.
func (p *Pred) Count() int {
	if p == nil {
		return 0
	}
	return p.count
}

// All iterates over the clauses in order.
func (p *Pred) All(yield func(*Clause) bool) {
	if p != nil {
		p.ranks.each(yield)
	}
}

// at returns the clause of a rank; nil: there is none.
func (p *Pred) at(rank int64) *Clause {
	if p == nil {
		return nil
	}
	return p.ranks.get(keyOf(rank))
}

// Has reports whether a clause is still one of the predicate.
func (p *Pred) Has(c *Clause) bool { return p.at(c.Rank) == c }

// with returns the predicate with a clause in its place, instead of one that has its rank.
func (p *Pred) with(c *Clause, by *owner) *Pred {
	var made Pred
	if p != nil {
		made = *p
	}
	made.add(c, by)
	return &made
}

func (p *Pred) add(c *Clause, by *owner) {
	if old := p.ranks.get(c.key()); old != nil {
		p.take(old, by)
		p.count--
	}
	p.count++
	p.ranks = p.ranks.with(c, by)
	p.put(c, by)
}

// without returns the predicate without the clause of a rank.
func (p *Pred) without(rank int64, by *owner) *Pred {
	c := p.at(rank)
	if c == nil {
		return p
	}
	made := *p
	made.count--
	made.ranks = made.ranks.without(c.key(), by)
	made.take(c, by)
	return &made
}
