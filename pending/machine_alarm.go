package pending

import (
	"errors"
	"slices"

	"github.com/conchhq/conch/chain"
)

// alarm raises or ends an alarm, unless it is raised or ended already.
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

// calm ends the alarms of a slot that is final.
func (m *machine) calm(index uint64) {
	for _, c := range []Cause{Rewound, Fees, Refused, Unsignable, Unfilled} {
		m.alarm(Alarm{Cause: c, Index: index}, false)
	}
}

// calmGone ends the alarms of nonces in the chain without a slot in memory: they are final, or gaps
// that another sender filled.
func (m *machine) calmGone() {
	var gone []uint64
	for a, raised := range m.alarms {
		if raised && !a.Whole && a.Index < m.best && m.slots.get(a.Index) == nil {
			gone = append(gone, a.Index)
		}
	}
	slices.Sort(gone) // so that alarms end in a fixed order
	for _, index := range gone {
		m.calm(index)
	}
}

// funds sets the alarm about the balance. It ends once neither sending nor signing lacks funds: one
// accepted transaction does not mean that the account can pay for the next.
func (m *machine) funds(why string) {
	m.alarm(Alarm{Cause: Funds, Whole: true, Why: why}, m.unpaid || m.unsigned)
}

// unclear moves the alarm about unrecognised refusals to the intent that is refused now, if any.
func (m *machine) unclear(why error) {
	var of ID
	if at, is := errors.AsType[*heldError](why); is && errors.Is(why, chain.ErrUnclear) {
		of = at.intent
	}
	for a, raised := range m.alarms { // at most one is raised
		if raised && a.Cause == Unclear && a.Intent != of {
			m.alarm(a, false)
		}
	}
	if of != (ID{}) {
		m.alarm(Alarm{Cause: Unclear, Whole: true, Intent: of, Why: why.Error()}, true)
	}
}
