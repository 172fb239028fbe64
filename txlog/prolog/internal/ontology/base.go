package ontology

import (
	"hash/maphash"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/conchhq/conch/txlog/internal/keyed"
	"github.com/conchhq/conch/txlog/prolog/internal/syntax"
	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

const shards = 64

var seed = maphash.MakeSeed()

// shard is some of the predicates. It has the number of views that had been taken when it was made: none of them has it.
type shard struct {
	views uint64
	preds map[Name]*Pred
}

// Base is what a store says, as a solver sees it. It is used by one goroutine; a copy that View returns is of its time, and anybody may read it.
type Base struct {
	views  uint64
	by     *owner // of what no view has; nil: there is none
	shards [shards]*shard
	ops    *syntax.Ops
	flags  map[string]string
}

func (n Name) shard() int { return int(maphash.Comparable(seed, n) % shards) }

// View returns the base as it is now.
func (b *Base) View() *Base {
	b.views++
	b.by = nil
	view := *b
	return &view
}

// Pred returns a predicate; nil: it does not exist.
func (b *Base) Pred(n Name) *Pred {
	if s := b.shards[n.shard()]; s != nil {
		return s.preds[n]
	}
	return nil
}

// Names returns the predicates that exist, sorted.
func (b *Base) Names() (all []Name) {
	for _, s := range b.shards {
		if s != nil {
			all = slices.AppendSeq(all, maps.Keys(s.preds))
		}
	}
	return sortNames(all)
}

func sortNames(all []Name) []Name {
	slices.SortFunc(all, Name.Compare)
	return all
}

// set puts a predicate in its place; nil takes it out.
func (b *Base) set(n Name, p *Pred) {
	i := n.shard()
	s := b.shards[i]
	switch {
	case s == nil:
		s = &shard{b.views, map[Name]*Pred{}}
	case s.views < b.views:
		s = &shard{b.views, maps.Clone(s.preds)}
	}
	b.shards[i] = s
	if p == nil {
		delete(s.preds, n)
		return
	}
	s.preds[n] = p
}

// Take follows a change of the store: what a key has now; the empty entry: nothing.
func (b *Base) Take(key []byte, now keyed.Entry) {
	value := ""
	if now != "" {
		value = now.Text()
	}
	if b.by == nil {
		b.by = &owner{}
	}
	switch key[0] {
	case clauseKey:
		n, rest := cutName(key)
		p := b.Pred(n)
		if rank := rankOf(rest); value != "" {
			p = p.with(NewClause(rank, value), b.by)
		} else {
			p = p.without(rank, b.by)
		}
		b.set(n, p)
	case predKey:
		n, _ := cutName(key)
		if p := b.Pred(n); value != "" && p == nil {
			b.set(n, &Pred{})
		} else if value == "" && p.Count() == 0 {
			b.set(n, nil)
		}
	case opKey:
		k := syntax.OpKey{Name: term.NewAtom(string(key[2:])), Class: syntax.Class(key[1])}
		op, is := parseOp(value)
		if !is {
			op = syntax.Standard(k)
		}
		b.ops = b.ops.With(k, op)
	case flagKey:
		flags := maps.Clone(b.flags)
		if flags == nil {
			flags = map[string]string{}
		}
		if flags[string(key[1:])] = strings.TrimPrefix(value, "+"); value == "" {
			delete(flags, string(key[1:]))
		}
		b.flags = flags
	}
}

// Load makes a base of all entries of a store, which come by key.
func Load(all iter.Seq[keyed.Entry]) *Base {
	b := &Base{}
	for v := range all {
		b.Take([]byte(v.Key()), v)
	}
	return b
}
