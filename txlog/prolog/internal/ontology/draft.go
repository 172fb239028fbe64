package ontology

import (
	"maps"
	"math/bits"
	"slices"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/keyed"
	"github.com/conchhq/conch/txlog/prolog/internal/syntax"
)

// Draft is a base with changes of one goal, which nobody else sees. What is not wanted is just dropped. The base stays as it is meanwhile.
type Draft struct {
	b     *txlog.Budget
	of    *Base
	by    *owner // of what nobody outside has seen; nil: there is none
	preds map[Name]*changed
	ops   *syntax.Ops
	flags map[string]string
	old   map[syntax.OpKey]bool // operators that were changed
}

// changed is a predicate that may be other than in the base.
type changed struct {
	now   *Pred   // nil: gone
	ranks []int64 // of clauses that have come or gone
	whole bool    // all that it had are gone
}

// NewDraft begins a draft.
func NewDraft(b *txlog.Budget, of *Base) *Draft {
	return &Draft{b: b, of: of, preds: map[Name]*changed{}, ops: of.ops, flags: of.flags}
}

// Pred returns a predicate, which never changes; nil: it does not exist.
func (d *Draft) Pred(n Name) *Pred {
	if c, is := d.preds[n]; is {
		d.by = nil
		return c.now
	}
	return d.of.Pred(n)
}

// pred is Pred for a moment: the next change may change it.
func (d *Draft) pred(n Name) *Pred {
	if c, is := d.preds[n]; is {
		return c.now
	}
	return d.of.Pred(n)
}

// change returns what a predicate is in the draft, to be changed.
func (d *Draft) change(n Name) *changed {
	c, is := d.preds[n]
	if !is {
		c = &changed{now: d.of.Pred(n)}
		d.preds[n] = c
	}
	return c
}

// Ops returns the operators.
func (d *Draft) Ops() *syntax.Ops { return d.ops }

// Flag returns a flag, or the empty text.
func (d *Draft) Flag(name string) string { return d.flags[name] }

// SetFlag sets a flag.
func (d *Draft) SetFlag(name, value string) {
	d.flags = maps.Clone(d.flags)
	if d.flags == nil {
		d.flags = map[string]string{}
	}
	d.flags[name] = value
}

// SetOp sets an operator.
func (d *Draft) SetOp(k syntax.OpKey, op syntax.Op) {
	d.b.Spend(1 + d.ops.Own())
	if d.old == nil {
		d.old = map[syntax.OpKey]bool{}
	}
	d.old[k] = true
	d.ops = d.ops.With(k, op)
}

// Names returns the predicates that exist.
func (d *Draft) Names() []Name {
	all := d.of.Names()
	d.b.Spend(len(all) + len(d.preds))
	all = slices.DeleteFunc(all, func(n Name) bool { _, is := d.preds[n]; return is })
	for n, c := range d.preds {
		if c.now != nil {
			all = append(all, n)
		}
	}
	return sortNames(all)
}

// Exist makes a predicate exist.
func (d *Draft) Exist(n Name) {
	if d.pred(n) == nil {
		d.change(n).now = &Pred{}
	}
}

// spend pays for a change of a predicate before it is made: the way to a clause is copied, in the order and in the index.
func (d *Draft) spend(p *Pred) { d.b.Spend(2 + bits.Len(uint(p.Count()))/4) }

// put makes a predicate have a clause, and remembers it.
func (d *Draft) put(n Name, rank int64, raw string) {
	d.spend(d.pred(n))
	if d.by == nil {
		d.by = &owner{}
	}
	c := d.change(n)
	c.ranks = append(c.ranks, rank)
	c.now = c.now.with(NewClause(rank, raw), d.by)
}

// Append adds a clause at the end.
func (d *Draft) Append(n Name, raw string) {
	rank := int64(0)
	if p := d.pred(n); p.Count() > 0 {
		rank = p.ranks.last().Rank + 1
	}
	d.put(n, rank, raw)
}

// Prepend adds a clause at the beginning.
func (d *Draft) Prepend(n Name, raw string) {
	rank := int64(0)
	if p := d.pred(n); p.Count() > 0 {
		rank = p.ranks.first().Rank - 1
	}
	d.put(n, rank, raw)
}

// Remove takes a clause out, and reports whether it was still there. The predicate goes on to exist.
func (d *Draft) Remove(n Name, k *Clause) bool {
	p := d.pred(n)
	if !p.Has(k) {
		return false
	}
	d.spend(p)
	if d.by == nil {
		d.by = &owner{}
	}
	c := d.change(n)
	c.ranks = append(c.ranks, k.Rank)
	c.now = p.without(k.Rank, d.by)
	return true
}

// Clear takes all clauses out.
func (d *Draft) Clear(n Name) {
	if d.pred(n) != nil {
		c := d.change(n)
		c.now, c.whole = &Pred{}, true
	}
}

// Abolish takes out a predicate, so that it does not exist.
func (d *Draft) Abolish(n Name) {
	c := d.change(n)
	c.now, c.whole = nil, true
}

// Changes returns what is other than in the base, by the keys of the store.
func (d *Draft) Changes() (all []keyed.Change) {
	for n, c := range d.preds {
		before := d.of.Pred(n)
		if (before == nil) != (c.now == nil) {
			after := exists
			if c.now == nil {
				after = ""
			}
			all = append(all, keyed.Change{Key: nameKey(predKey, n), After: after})
		}
		all = d.clauses(all, n, before, c)
	}
	for k := range d.old {
		before, after := d.of.ops.Of(k), d.ops.Of(k)
		if before != after {
			value := opValue(after)
			if after == syntax.Standard(k) {
				value = ""
			}
			all = append(all, keyed.Change{Key: string(opKeyOf(k)), After: value})
		}
	}
	for name, value := range d.flags {
		if d.of.flags[name] != value {
			all = append(all, keyed.Change{Key: string(flagKey) + name, After: "+" + value})
		}
	}
	return all
}

// clauses appends the changes of a predicate.
func (d *Draft) clauses(all []keyed.Change, n Name, before *Pred, c *changed) []keyed.Change {
	ranks := c.ranks
	if c.whole {
		d.b.Spend(before.Count())
		for k := range before.All {
			ranks = append(ranks, k.Rank)
		}
	}
	d.b.Spend(len(ranks))
	slices.Sort(ranks)
	for _, rank := range slices.Compact(ranks) {
		after := ""
		if k := c.now.at(rank); k != nil {
			after = k.Raw
		}
		if k := before.at(rank); k != nil && k.Raw == after || k == nil && after == "" {
			continue
		}
		d.b.Spend(1 + len(after)/16)
		all = append(all, keyed.Change{Key: rankKey(n, rank), After: after})
	}
	return all
}

// Pay has another budget pay for what is done from now on.
func (d *Draft) Pay(b *txlog.Budget) { d.b = b }
