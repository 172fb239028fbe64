package book

import (
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
)

// remember keeps an attempt and the states that it creates.
func (b *Book) remember(a *attempt) {
	b.attempts[a.assembled] = a
	for i, secret := range a.Outputs {
		id := b.Scheme.State(a.assembled, i)
		a.states = append(a.states, id)
		if e := b.states[id]; e != nil { // its creator is final, and heard again
			e.held = true
			continue
		}
		s := domain.State{ID: id, Creator: a.Attempt.Intent, Assembled: a.assembled, Secret: secret}
		b.states[id] = &entry{State: s, label: label(b.Rules, s), held: true}
	}
}

// forget is the reverse of remember. What is there stays.
func (b *Book) forget(a *attempt) {
	delete(b.attempts, a.assembled)
	for _, id := range a.states {
		if e := b.states[id]; e != nil {
			if e.held = false; !e.landed {
				delete(b.states, id)
			}
		}
	}
}

// wait puts an attempt in the line of those that have not landed.
func (b *Book) wait(a *attempt) {
	a.heard = b.top
	a.waits = b.waiting.PushBack(a)
	b.bytes += a.Size()
	for b.waiting.Len() > b.Most || b.bytes > b.MostBytes {
		b.drop()
	}
}

func (b *Book) hearAgain(a *attempt) {
	if a.waits != nil {
		a.heard = b.top
		b.waiting.MoveToBack(a.waits)
	}
}

// leave takes an attempt out of the line.
func (b *Book) leave(a *attempt) {
	b.waiting.Remove(a.waits)
	b.bytes -= a.Size()
	a.waits = nil
}

// expire forgets the attempts whose grants are over.
func (b *Book) expire() {
	for b.waiting.Len() > 0 && b.top-b.first().heard >= b.Contract.Life+b.Contract.Depth {
		b.drop()
	}
}

// rest gives memory back when nothing is on its way: a map keeps the room that it once had.
func (b *Book) rest() {
	if !b.worked || len(b.attempts)+len(b.landed)+len(b.spent) > 0 {
		return
	}
	b.worked = false
	b.attempts, b.landed, b.spent, b.missing = map[ledger.Hash]*attempt{}, map[ledger.Hash]landing{}, map[ledger.StateID]bool{}, map[ledger.Hash]bool{}
	if len(b.states) == 0 {
		b.states, b.labels = map[ledger.StateID]*entry{}, index{}
	}
}

// drop forgets the attempt that was heard longest ago.
func (b *Book) drop() {
	a := b.first()
	b.leave(a)
	b.forget(a)
}

func (b *Book) first() *attempt {
	a, _ := b.waiting.Front().Value.(*attempt)
	return a
}

// apply does what an attempt on the chain does: its inputs are spent, and its outputs appear unless they were spent.
// The order of attempts does not matter, since a state is created once and spent once. Its contents are to be stored,
// from wherever the book has heard them: another member may have lost them.
func (b *Book) apply(a *attempt) {
	b.change.landed[a.assembled] = a.Whole
	delete(b.change.undone, a.assembled)
	for _, id := range a.Attempt.Inputs {
		if !b.spent[id] { // or it is Gone
			b.spent[id] = false
		}
		if e := b.states[id]; e != nil {
			b.labels.remove(e.label, id)
		}
	}
	for _, id := range a.states {
		e := b.states[id]
		if e.landed = true; b.there(e) {
			b.labels.add(e.label, &e.State)
		}
	}
}

// retract is the reverse of apply.
func (b *Book) retract(a *attempt) {
	b.change.undone[a.assembled] = struct{}{} // the store may have it as landed
	for _, id := range a.states {
		e := b.states[id]
		e.landed = false
		b.labels.remove(e.label, id)
	}
	for _, id := range a.Attempt.Inputs {
		if !b.spent[id] {
			delete(b.spent, id)
		}
		if e := b.states[id]; e != nil && b.there(e) {
			b.labels.add(e.label, &e.State)
		}
	}
}

// settle makes final what an attempt did, and forgets it.
func (b *Book) settle(a *attempt) {
	left := 0
	for _, id := range a.states {
		e := b.states[id]
		if b.spent[id] { // before its creator was heard
			delete(b.spent, id)
			b.change.early.remove(id)
			e.landed = false
		} else {
			b.change.states.add(id, e.State)
			left++
		}
	}
	if left > 0 {
		b.left[a.assembled] = left
	} else {
		b.change.spent[a.assembled] = struct{}{}
	}
	for _, id := range a.Attempt.Inputs {
		b.settleInput(id)
	}
	delete(b.landed, a.assembled)
	b.forget(a)
}

// Settled returns those of some states that seem to be there, and whose creators are final.
func (b *Book) Settled(ids []ledger.StateID) (settled []ledger.StateID) {
	for _, id := range ids {
		if b.settled(id) != nil {
			settled = append(settled, id)
		}
	}
	return settled
}

func (b *Book) settled(id ledger.StateID) *entry {
	e := b.states[id]
	if e == nil || !b.there(e) {
		return nil
	}
	if _, recent := b.landed[e.Assembled]; recent {
		return nil
	}
	return e
}

// Gone takes out states that a final block of the ledger no longer has, and that seem to be there: what has spent them is
// missing, and perhaps nobody has it any more. They were Settled when the ledger was asked, and the block is none below the
// last final one of that time: it would not have them yet. A state whose creator is not final stays. What is gone is Early
// until what has spent it is heard.
func (b *Book) Gone(ids ...ledger.StateID) {
	for _, id := range ids {
		e := b.settled(id)
		if e == nil {
			continue
		}
		b.labels.remove(e.label, id)
		b.change.states.remove(id)
		b.takeFrom(e.Assembled)
		b.spent[id] = true
		b.change.early.add(id, id)
		if e.landed = false; !e.held {
			delete(b.states, id)
		}
	}
}

func (b *Book) settleInput(id ledger.StateID) {
	e := b.states[id]
	if b.spent[id] { // it was Gone
		delete(b.spent, id)
		b.change.early.remove(id)
		return
	}
	switch unknown := e == nil || !e.landed; {
	case unknown && b.forgone && len(b.missing) == 0: // what creates it was given up
		delete(b.spent, id)
		return
	case unknown:
		b.spent[id] = true
		b.change.early.add(id, id)
		return
	}
	delete(b.spent, id)
	b.change.states.remove(id)
	b.takeFrom(e.Assembled)
	if e.landed = false; !e.held {
		delete(b.states, id)
	}
}

// takeFrom counts a state less of a final attempt. Who lacks its contents needs them as long as one is there.
func (b *Book) takeFrom(creator ledger.Hash) {
	if b.left[creator]--; b.left[creator] <= 0 {
		b.Vouch(creator)
		delete(b.left, creator)
		b.change.spent[creator] = struct{}{}
	}
}
