package pending

import (
	"errors"
	"slices"

	"github.com/conchhq/conch/chain"
)

// alarm raises or ends an alarm, once.
func (m *machine) alarm(a Alarm, raised bool) {
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
func (m *machine) calm(index uint64) {
	for _, c := range []Cause{Rewound, Fees, Refused, Unsignable, Unfilled} {
		m.alarm(Alarm{Cause: c, Index: index}, false)
	}
}

// calmGone ends what was raised about slots that are in the chain and not known, or not
// any more: they are final, or a gap that was closed by somebody else.
func (m *machine) calmGone() {
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
func (m *machine) funds(why string) {
	m.alarm(Alarm{Cause: Funds, Whole: true, Why: why}, m.unpaid || m.unsigned)
}

// unclear says which intent is refused like that, for as long as the others wait for it.
func (m *machine) unclear(why error) {
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
