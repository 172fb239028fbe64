package book

import (
	"iter"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Overlay is a domain.View of another one with some states hidden and others added. It is not safe for concurrent use.
type Overlay struct {
	base   domain.View
	rules  domain.Rules
	hidden map[ledger.StateID]bool
	added  map[ledger.StateID]*entry
	labels index
}

// Over returns an overlay that is equal to its base: a Book, or another Overlay. The base may change later.
func Over(base domain.View, rules domain.Rules) *Overlay {
	return &Overlay{base: base, rules: rules, hidden: map[ledger.StateID]bool{}, added: map[ledger.StateID]*entry{}, labels: index{}}
}

// Hide takes a state out, whether the base has it now, later or never. It is remembered until Drop, so an overlay that
// lives long is told what is gone.
func (o *Overlay) Hide(id ledger.StateID) {
	o.Drop(id)
	o.hidden[id] = true
}

// Add puts a state in. If the base has it too, now or later, it is there once.
func (o *Overlay) Add(s domain.State) {
	o.Drop(s.ID)
	e := &entry{State: s, label: label(o.rules, s)}
	o.added[s.ID] = e
	o.labels.add(e.label, &e.State)
}

// Drop undoes Hide or Add: the state is there if the base has it.
func (o *Overlay) Drop(id ledger.StateID) {
	delete(o.hidden, id)
	if e := o.added[id]; e != nil {
		delete(o.added, id)
		o.labels.remove(e.label, id)
	}
}

// Hides reports whether any state is taken out.
func (o *Overlay) Hides() bool { return len(o.hidden) > 0 }

// State implements domain.View.
func (o *Overlay) State(id ledger.StateID) (domain.State, bool) {
	if o.hidden[id] {
		return domain.State{}, false
	}
	if e := o.added[id]; e != nil {
		return e.State, true
	}
	return o.base.State(id)
}

// Labelled implements domain.View, in the order of Book.Labelled.
func (o *Overlay) Labelled(label string, seed uint64) iter.Seq[domain.State] {
	return func(yield func(domain.State) bool) {
		begin := place(seed)
		mine := o.labels[label].from(begin)
		for s := range o.base.Labelled(label, seed) {
			if o.hidden[s.ID] || o.added[s.ID] != nil {
				continue
			}
			for ; mine.state() != nil && begin.before(mine.state().ID, s.ID); mine = mine.next() {
				if !yield(*mine.state()) {
					return
				}
			}
			if !yield(s) {
				return
			}
		}
		for ; mine.state() != nil; mine = mine.next() {
			if !yield(*mine.state()) {
				return
			}
		}
	}
}
