package core

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/conchhq/conch/sequencer/internal/book"
	"github.com/conchhq/conch/sequencer/ledger"
)

// mostRead is how many states one question to the ledger is about: an endpoint is asked some dozens of times for it, and has
// to have the block until the last one.
const mostRead = 2048

// inquiry is what the ledger is still to be asked, about a final block that is not below the one of its beginning: an
// earlier one would not have everything yet.
type inquiry struct {
	final   uint64
	states  []ledger.StateID // that were created up to that block
	missing []book.Missing   // that landed up to that block
	late    []ledger.Hash    // attempts that were heard late, and are decided with it
}

// reconcileStates asks the ledger which states a final block still has, of those that were created in a block that is final for
// this node, and gives up attempts of which it has none. An answer of an earlier block would not have them yet: it counts
// for nothing.
func (b *absent) reconcileStates(states []ledger.StateID, missing []book.Missing) {
	_, final := b.of.Book.Height()
	q := inquiry{final: final, states: b.of.Book.Settled(states)}
	if !b.doubting && len(missing) > 0 {
		q.missing = b.doubtsInTurn(missing, final)
		b.doubting = len(q.missing) > 0
		b.forgone = b.forgone || b.doubting // from now on: what is heard meanwhile may have states that they have spent
	}
	b.inquireLedger(q)
}

// reconcileLate asks the ledger what is left of attempts that were heard late, until it has answered: what has spent their states may be
// among what was given up. Where nothing was given up there is nothing to ask, and what a block has spent since was there.
func (b *absent) reconcileLate() {
	late := b.of.Book.Late()
	if len(late) == 0 || b.lateAsked || b.of.core.now < b.lateAt {
		return
	}
	_, final := b.of.Book.Height()
	q := inquiry{final: final, states: b.of.Book.Settled(b.of.Book.LeftOf(late)), late: late}
	if !b.forgone || len(q.states) == 0 {
		b.of.Book.Vouch(late...)
		b.of.keepBook()
		return
	}
	b.lateAsked, b.lateAt = true, b.of.core.now+betweenAsks
	b.inquireLedger(q)
}

// doubtsInTurn returns the missing attempts that are final, beginning with the one after that which was asked about last: what
// cannot be given up keeps none that can from its turn.
func (b *absent) doubtsInTurn(missing []book.Missing, final uint64) []book.Missing {
	missing = slices.DeleteFunc(slices.Clone(missing), func(m book.Missing) bool { return m.Number > final })
	next := max(0, slices.IndexFunc(missing, func(m book.Missing) bool {
		return cmp.Or(cmp.Compare(m.Number, b.doubted.Number), bytes.Compare(m.Assembled[:], b.doubted.Assembled[:])) > 0
	}))
	return slices.Concat(missing[next:], missing[:next])
}

// inquireLedger asks one question, and the next one when it is answered: about all states, and then about attempts as long as some
// of each question are given up. What they have spent is gone by then. After an answer that is of no use the rest is asked
// with the next fetch.
func (b *absent) inquireLedger(q inquiry) {
	doubts := len(q.missing) > 0
	states := q.states[:min(len(q.states), mostRead)]
	q.states = q.states[len(states):]
	asked := slices.Clone(states)
	var lost []ledger.Hash
	var made [][]ledger.StateID
	for len(q.missing) > 0 { // while states are left there is no room
		m := q.missing[0]
		created := b.of.Book.Created(m.Assembled)
		if len(asked) > 0 && len(asked)+len(created) > mostRead {
			break
		}
		lost, made, asked = append(lost, m.Assembled), append(made, created), append(asked, created...)
		b.doubted, q.missing = m, q.missing[1:]
	}
	if len(asked) == 0 {
		return
	}
	b.of.core.act(ReadFinal{Contract: b.of.address(), States: asked, ID: b.of.core.askQuestion(func(a Answered) {
		if b.of.asleep {
			return
		}
		useful := a.Err == nil && a.Final.Number() >= q.final
		var over []ledger.Hash
		if useful {
			for i, h := range lost {
				if !slices.ContainsFunc(made[i], a.Final.Unspent) {
					over = append(over, h)
				}
			}
			b.of.Book.Gone(slices.DeleteFunc(states, a.Final.Unspent)...)
			b.of.Book.Forgo(over...)
			if len(q.states) == 0 {
				b.of.Book.Vouch(q.late...)
			}
			b.of.keepBook()
		}
		switch more := len(q.states) > 0 || len(q.missing) > 0 && (len(lost) == 0 || len(over) > 0); {
		case useful && more:
			b.inquireLedger(q)
		case len(q.late) > 0:
			b.lateAsked = false
		case doubts:
			b.doubting = false
		}
	})})
}
