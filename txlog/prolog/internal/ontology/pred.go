// Package ontology has the clauses of an ontology as a solver sees them: predicates that never change, of which a goal makes others on a draft. What they are
// made of are the keys and values of a [keyed.Store]; see keys.go.
package ontology

import (
	"slices"
	"sync/atomic"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

// Name is the name of a predicate, with its arity.
type Name struct {
	Atom  term.Atom
	Arity int
}

// Clause is one of a predicate. Its rank is its name in a diff: assertz takes the last rank and one more, asserta the first and one less. Several goroutines may
// read it. The pointer is who it is: another clause may have its rank once it is gone.
type Clause struct {
	Rank int64
	Raw  string

	code  atomic.Pointer[term.Clause]
	first any // see firstOf
}

// NewClause returns a clause of its bytes.
func NewClause(rank int64, raw string) *Clause {
	return &Clause{Rank: rank, Raw: raw, first: firstIn(raw)}
}

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

const mostInBlock = 512

// block is some clauses, by rank.
type block struct {
	all   []*Clause
	index atomic.Pointer[index]
	by    *Draft // made it: nobody else sees it; nil: it is in a base
}

// Pred is a predicate that exists. It never changes.
type Pred struct {
	blocks []*block // none is empty
	count  int
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
	if p == nil {
		return
	}
	for _, b := range p.blocks {
		for _, c := range b.all {
			if !yield(c) {
				return
			}
		}
	}
}

// find returns where a rank is, or would be.
func (p *Pred) find(rank int64) (in, at int, is bool) {
	in, _ = slices.BinarySearchFunc(p.blocks, rank, func(b *block, rank int64) int {
		if b.all[len(b.all)-1].Rank < rank {
			return -1
		}
		return 1
	})
	if in == len(p.blocks) {
		return in, 0, false
	}
	at, is = slices.BinarySearchFunc(p.blocks[in].all, rank, func(c *Clause, rank int64) int {
		switch {
		case c.Rank < rank:
			return -1
		case c.Rank > rank:
			return 1
		}
		return 0
	})
	return in, at, is
}

// Has reports whether a clause is still one of the predicate.
func (p *Pred) Has(c *Clause) bool {
	if p == nil {
		return false
	}
	in, at, is := p.find(c.Rank)
	return is && p.blocks[in].all[at] == c
}

// with returns the predicate with a clause in its place, instead of one that has its rank.
func (p *Pred) with(c *Clause, by *Draft) *Pred {
	if p == nil {
		p = &Pred{}
	}
	if len(p.blocks) == 0 {
		return &Pred{[]*block{{all: []*Clause{c}, by: by}}, 1}
	}
	in, at, is := p.find(c.Rank)
	if in == len(p.blocks) {
		in--
		at = len(p.blocks[in].all)
	}
	all := slices.Clone(p.blocks[in].all)
	if is {
		all[at] = c
		return &Pred{replaced(p.blocks, in, &block{all: all, by: by}), p.count}
	}
	all = slices.Insert(all, at, c)
	if len(all) <= mostInBlock {
		return &Pred{replaced(p.blocks, in, &block{all: all, by: by}), p.count + 1}
	}
	half := len(all) / 2
	if at == len(all)-1 || at == 0 { // it grows at an end
		half = max(1, at)
	}
	blocks := replaced(p.blocks, in, &block{all: slices.Clone(all[:half]), by: by})
	return &Pred{slices.Insert(blocks, in+1, &block{all: slices.Clone(all[half:]), by: by}), p.count + 1}
}

// replaced returns blocks with another one in a place.
func replaced(blocks []*block, i int, with *block) []*block {
	blocks = slices.Clone(blocks)
	blocks[i] = with
	return blocks
}

// without returns the predicate without a rank.
func (p *Pred) without(rank int64, by *Draft) *Pred {
	in, at, is := p.find(rank)
	if !is {
		return p
	}
	if len(p.blocks[in].all) == 1 {
		return &Pred{slices.Concat(p.blocks[:in], p.blocks[in+1:]), p.count - 1}
	}
	all := slices.Concat(p.blocks[in].all[:at], p.blocks[in].all[at+1:])
	return &Pred{replaced(p.blocks, in, &block{all: all, by: by}), p.count - 1}
}

// append returns the predicate with a clause at its end, for a draft that appends to what it has made: others see less of the same memory.
func (p *Pred) append(c *Clause, d *Draft) *Pred {
	n := len(p.blocks)
	if n == 0 || len(p.blocks[n-1].all) >= mostInBlock {
		all := append(make([]*Clause, 0, 8), c)
		return &Pred{append(slices.Clone(p.blocks), &block{all: all, by: d}), p.count + 1}
	}
	last := p.blocks[n-1]
	all := last.all
	if last.by != d {
		all = slices.Clone(all)
	}
	return &Pred{replaced(p.blocks, n-1, &block{all: append(all, c), by: d}), p.count + 1}
}
