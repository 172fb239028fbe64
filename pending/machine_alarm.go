package pending

import (
	"errors"
	"slices"

	"github.com/conchhq/conch/chain"
)

// Cause is why an alarm is raised.
type Cause uint8

const (
	// Strange: the database has another history than before and may have lost rows;
	// nothing is given an index until all that was seen in the chain is final.
	Strange Cause = iota
	// Rewound: the chain has gone back below what was final.
	Rewound
	// Funds: the account cannot pay.
	Funds
	// Fees: what has to be paid is above the highest fee allowed.
	Fees
	// Keys: there is no key for the account.
	Keys
	// Refused: the chain will never take a transaction's bytes; its slot is filled.
	Refused
	// Unsignable: the chain would never take what has to be signed anew for a slot, which
	// waits with what it has.
	Unsignable
	// Unfilled: the chain does not take the filler of a slot either. It is signed anew with
	// each block; until one is taken nothing behind it is executed.
	Unfilled
	// Unclear: the node refuses one intent in words that nobody knows. It is asked again,
	// and the intent rejected in the end; until then what was accepted since waits.
	Unclear
)

func (c Cause) String() string {
	return [...]string{"strange", "rewound", "funds", "fees", "keys", "refused", "unsignable", "unfilled", "unclear"}[c]
}

// alarm raises or ends an alarm, once.
func (m *Machine) alarm(a Alarm, raised bool) {
	key := Alarm{Cause: a.Cause, Whole: a.Whole, Index: a.Index, Intent: a.Intent}
	if m.alarms[key] == raised {
		return
	}
	m.alarms[key] = raised
	a.Raised = raised
	if !raised {
		a.Why = ""
	}
	m.do(a)
}

// calm ends what was raised about one slot: it is final.
func (m *Machine) calm(index uint64) {
	for _, c := range []Cause{Rewound, Fees, Refused, Unsignable, Unfilled} {
		m.alarm(Alarm{Cause: c, Index: index}, false)
	}
}

// calmGone ends what was raised about slots that are in the chain and not known, or not
// any more: they are final, or a gap that was closed by somebody else.
func (m *Machine) calmGone() {
	var gone []uint64
	for a, raised := range m.alarms {
		if raised && !a.Whole && a.Index < m.best && m.slots.get(a.Index) == nil {
			gone = append(gone, a.Index)
		}
	}
	slices.Sort(gone) // in order: they are told
	for _, index := range gone {
		m.calm(index)
	}
}

// funds takes what is known of the account's balance: one transaction that is taken
// does not mean that the next can be paid for.
func (m *Machine) funds(why string) {
	m.alarm(Alarm{Cause: Funds, Whole: true, Why: why}, m.unpaid || m.unsigned)
}

// unclear says which intent is refused like that, for as long as the others wait for it.
func (m *Machine) unclear(why error) {
	var of ID
	if at, is := errors.AsType[*heldError](why); is && errors.Is(why, chain.ErrUnclear) {
		of = at.intent
	}
	for a, raised := range m.alarms { // one at most: the last one's
		if raised && a.Cause == Unclear && a.Intent != of {
			m.alarm(a, false)
		}
	}
	if of != (ID{}) {
		m.alarm(Alarm{Cause: Unclear, Whole: true, Intent: of, Why: why.Error()}, true)
	}
}
