package ontology

import (
	"encoding/binary"
	"strings"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

// index says which clauses of a block may have a first argument. It is made when it is first asked for.
type index struct {
	of   map[any][]int32 // by first argument, those with it and those that take any
	any  []int32         // those that take any
	size int
}

// functor is the first argument of a clause that is a compound.
type functor struct {
	name  term.Atom
	arity int
}

// FirstOf returns what a first argument is looked up by; nil: it may be anything.
func FirstOf(t term.Term) any {
	switch t := t.(type) {
	case term.Atom, term.Int, term.Float:
		return t
	case *term.Compound:
		return functor{t.Name, len(t.Args)}
	}
	return nil
}

// firstIn returns it of a clause's bytes, of which it reads no more than that.
func firstIn(raw string) any {
	if len(raw) < 3 || raw[1] == 0 {
		return nil
	}
	rest := raw[1:]
	for rest != "" && rest[0] >= 0x80 { // the number of arguments
		rest = rest[1:]
	}
	if len(rest) < 3 {
		return nil
	}
	rest = rest[1:]
	number := func() uint64 {
		n, size := binary.Uvarint([]byte(rest[:min(len(rest), binary.MaxVarintLen64)]))
		rest = rest[max(size, 0):]
		return n
	}
	text := func() string {
		n := min(number(), uint64(len(rest)))
		return strings.Clone(rest[:n]) // the name outlives the clause
	}
	tag := rest[0]
	switch rest = rest[1:]; tag {
	case 'a':
		return term.NewAtom(text())
	case 't':
		arity := number()
		return functor{term.NewAtom(text()), int(min(arity, 1<<20))}
	case 'i', 'f':
		c, is := term.Decode("F\x01" + raw[len(raw)-len(rest)-1:][:min(len(rest)+1, numberSize(tag, rest))])
		if is {
			return FirstOf(c.Args[0])
		}
	}
	return nil
}

// numberSize returns how many bytes a number has, with its tag.
func numberSize(tag byte, rest string) int {
	if tag == 'f' {
		return 9
	}
	n := 1
	for i := 0; i < len(rest) && rest[i] >= 0x80; i++ {
		n++
	}
	return n + 1
}

// least is how many clauses of a block are looked at one by one rather than by an index.
const least = 8

// indexed returns the block's index.
func (k *block) indexed(b *txlog.Budget) *index {
	if x := k.index.Load(); x != nil && x.size == len(k.all) {
		return x
	}
	if k.by == nil {
		b = nil // it lasts, and whether it is there already depends on what was asked before
	}
	b.Spend(len(k.all))
	x := &index{of: map[any][]int32{}, size: len(k.all)}
	for i, c := range k.all {
		i := int32(i)
		if c.first == nil {
			x.any = append(x.any, i)
			for first := range x.of {
				x.of[first] = append(x.of[first], i)
			}
			b.Spend(len(x.of))
			continue
		}
		known, is := x.of[c.first]
		if !is {
			known = append(known, x.any...)
			b.Spend(len(x.any))
		}
		x.of[c.first] = append(known, i)
	}
	k.index.Store(x)
	return x
}

// Iter goes through the clauses that a predicate had when it began.
type Iter struct {
	b      *txlog.Budget
	blocks []*block
	first  any
	in     *block
	list   []int32 // with an index, those of the block that are left
	by     bool    // an index
	at     int
	next   *Clause
}

// Each begins to go through the clauses that may have a first argument; nil: all.
func (p *Pred) Each(b *txlog.Budget, first any) Iter {
	it := Iter{b: b, first: first}
	if p != nil {
		it.blocks = p.blocks
	}
	it.move()
	return it
}

// More reports whether there is another clause.
func (it *Iter) More() bool { return it.next != nil }

// Next returns the next clause; nil: there is none.
func (it *Iter) Next() *Clause {
	c := it.next
	if c != nil {
		it.move()
	}
	return c
}

// move finds the clause after this one.
func (it *Iter) move() {
	for {
		switch {
		case it.in == nil && len(it.blocks) == 0:
			it.next = nil
			return
		case it.in == nil:
			it.enter()
		case it.by && len(it.list) > 0:
			it.next = it.in.all[it.list[0]]
			it.list = it.list[1:]
			return
		case it.by || it.at >= len(it.in.all):
			it.in = nil
		default:
			c := it.in.all[it.at]
			it.at++
			if it.first == nil || c.first == nil || c.first == it.first {
				it.next = c
				return
			}
		}
	}
}

func (it *Iter) enter() {
	it.in, it.blocks, it.at = it.blocks[0], it.blocks[1:], 0
	it.b.Spend(1)
	if it.by = it.first != nil && len(it.in.all) > least; !it.by {
		return
	}
	x := it.in.indexed(it.b)
	list, is := x.of[it.first]
	if !is {
		list = x.any
	}
	it.list = list
}
