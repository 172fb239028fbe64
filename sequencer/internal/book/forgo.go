package book

import (
	"bytes"
	"slices"

	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Created returns all states that an attempt may have created, whose contents need not be known.
func (b *Book) Created(assembled ledger.Hash) (states []ledger.StateID) {
	for i := range wire.MostStates {
		states = append(states, b.Scheme.State(assembled, i))
	}
	return states
}

// Forgo gives up attempts that are Missing: nobody has their contents any more, and a final block of the ledger has none of
// the states that they have created. What they have spent is for the caller to find out (Gone). An attempt whose block is
// not final stays.
func (b *Book) Forgo(all ...ledger.Hash) {
	for _, h := range all {
		if !b.missing[h] || b.landed[h].number > b.final {
			continue
		}
		b.forgone = true
		delete(b.missing, h)
		delete(b.landed, h)
		b.change.missing.remove(h)
		for _, id := range b.Created(h) {
			b.unspend(id)
		}
	}
	if len(b.missing) == 0 {
		b.recall()
	}
}

// Late returns the attempts that were heard after they were final, and of which states are left, until they are Vouched for. If what has
// spent a state was given up by then, it seems to be there for ever. A store has them as Missing until then, beside their states: a
// start has the same doubts.
func (b *Book) Late() []ledger.Hash { return sorted(b.late) }

// LeftOf returns the states of attempts that are Late.
func (b *Book) LeftOf(late []ledger.Hash) (states []ledger.StateID) {
	for _, h := range late {
		states = append(states, b.late[h]...)
	}
	return states
}

// Vouch says of attempts that are Late that what seems to be left of them is.
func (b *Book) Vouch(late ...ledger.Hash) {
	for _, h := range late {
		if _, is := b.late[h]; is {
			delete(b.late, h)
			b.change.missing.remove(h)
		}
	}
}

// doubt notes that an attempt is Late. Of one of which nothing is left there is no doubt.
func (b *Book) doubt(a *attempt) {
	if b.late[a.assembled] = a.states; b.left[a.assembled] == 0 {
		b.Vouch(a.assembled)
	}
}

// recall forgets the states that are Early: no attempt is missing that creates one, or has spent one that is Gone.
func (b *Book) recall() {
	var gone []ledger.StateID
	for id, final := range b.spent {
		if final {
			gone = append(gone, id)
		}
	}
	slices.SortFunc(gone, func(x, y ledger.StateID) int { return bytes.Compare(x[:], y[:]) })
	for _, id := range gone {
		b.unspend(id)
	}
}

// unspend forgets that a state that is not there was spent.
func (b *Book) unspend(id ledger.StateID) {
	if !b.spent[id] {
		return
	}
	delete(b.spent, id)
	b.change.early.remove(id)
}
