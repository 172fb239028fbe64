package ontology

import (
	"maps"
	"slices"
	"strings"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/keyed"
	"github.com/conchhq/conch/txlog/prolog/internal/syntax"
)

// Draft is a base with changes of one goal, which nobody else sees. What is not wanted is just dropped.
type Draft struct {
	b     *txlog.Budget
	of    *Base
	preds map[Name]*Pred // those that are other than in the base; nil: gone
	ops   *syntax.Ops
	flags map[string]string
	old   map[syntax.OpKey]bool // operators that were changed
}

// NewDraft begins a draft.
func NewDraft(b *txlog.Budget, of *Base) *Draft {
	return &Draft{b: b, of: of, preds: map[Name]*Pred{}, ops: of.ops, flags: of.flags, old: map[syntax.OpKey]bool{}}
}

// Pred returns a predicate; nil: it does not exist.
func (d *Draft) Pred(n Name) *Pred {
	if p, is := d.preds[n]; is {
		return p
	}
	return d.of.Pred(n)
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
	d.old[k] = true
	d.ops = d.ops.With(k, op)
}

// Names returns the predicates that exist.
func (d *Draft) Names() []Name {
	all := d.of.Names()
	d.b.Spend(len(all) + len(d.preds))
	all = slices.DeleteFunc(all, func(n Name) bool { _, is := d.preds[n]; return is })
	for n, p := range d.preds {
		if p != nil {
			all = append(all, n)
		}
	}
	return sortNames(all)
}

// Exist makes a predicate exist.
func (d *Draft) Exist(n Name) {
	if d.Pred(n) == nil {
		d.preds[n] = &Pred{}
	}
}

// spend pays for a change of a predicate before it is made: some of its clauses and all of its blocks are copied.
func (d *Draft) spend(p *Pred, clauses int) {
	if p != nil {
		d.b.Spend(2 + (clauses+len(p.blocks))/8)
	}
}

// Append adds a clause at the end.
func (d *Draft) Append(n Name, raw string) {
	d.Exist(n)
	p := d.Pred(n)
	rank, copied := int64(0), 0
	if k := len(p.blocks); k > 0 {
		last := p.blocks[k-1]
		rank = last.all[len(last.all)-1].Rank + 1
		if last.by != d {
			copied = len(last.all)
		}
	}
	d.spend(p, copied)
	d.preds[n] = p.append(NewClause(rank, raw), d)
}

// Prepend adds a clause at the beginning.
func (d *Draft) Prepend(n Name, raw string) {
	d.Exist(n)
	p := d.Pred(n)
	rank, copied := int64(0), 0
	if len(p.blocks) > 0 {
		rank, copied = p.blocks[0].all[0].Rank-1, len(p.blocks[0].all)
	}
	d.spend(p, copied)
	d.preds[n] = p.with(NewClause(rank, raw), d)
}

// Remove takes a clause out, and reports whether it was still there. The predicate goes on to exist.
func (d *Draft) Remove(n Name, c *Clause) bool {
	p := d.Pred(n)
	if !p.Has(c) {
		return false
	}
	in, _, _ := p.find(c.Rank)
	d.spend(p, len(p.blocks[in].all))
	d.preds[n] = p.without(c.Rank, d)
	return true
}

// Clear takes all clauses out.
func (d *Draft) Clear(n Name) {
	if d.Pred(n) != nil {
		d.preds[n] = &Pred{}
	}
}

// Abolish takes out a predicate, so that it does not exist.
func (d *Draft) Abolish(n Name) { d.preds[n] = nil }

// Changes returns what is other than in the base, by the keys of the store.
func (d *Draft) Changes() (all []keyed.Change) {
	for n, p := range d.preds {
		before := d.of.Pred(n)
		if (before == nil) != (p == nil) {
			after := exists
			if p == nil {
				after = ""
			}
			all = append(all, keyed.Change{Key: string(nameKey(predKey, n)), After: after})
		}
		all = d.clauses(all, n, before, p)
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

// clauses appends the changes of a predicate. What both have in common is passed, block by block.
func (d *Draft) clauses(all []keyed.Change, n Name, before, after *Pred) []keyed.Change {
	if before == nil {
		before = &Pred{}
	}
	if after == nil {
		after = &Pred{}
	}
	same := map[*block]bool{}
	for _, k := range before.blocks {
		same[k] = true
	}
	changed := map[int64]string{}
	for _, k := range after.blocks {
		if d.b.Spend(1); same[k] {
			same[k] = false // in both
			continue
		}
		d.b.Spend(len(k.all))
		for _, c := range k.all {
			changed[c.Rank] = c.Raw
		}
	}
	for _, k := range before.blocks {
		if !same[k] {
			continue
		}
		d.b.Spend(len(k.all))
		for _, c := range k.all {
			if raw, is := changed[c.Rank]; is && raw == c.Raw {
				delete(changed, c.Rank)
			} else if !is {
				changed[c.Rank] = ""
			}
		}
	}
	for rank, raw := range changed {
		d.b.Spend(1 + len(raw)/16)
		all = append(all, keyed.Change{Key: string(rankKey(n, rank)), After: strings.Clone(raw)})
	}
	return all
}

// Pay has another budget pay for what is done from now on.
func (d *Draft) Pay(b *txlog.Budget) { d.b = b }
