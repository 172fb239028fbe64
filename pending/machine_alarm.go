package pending

import (
	"errors"
	"slices"

	"github.com/conchhq/conch/chain"
)

// alarm reports a change of an alarm, which is known by its cause and subject. While it is raised,
// another Why is not reported.
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

// calm ends every alarm about one nonce; each cause with an Index is listed here.
func (m *machine) calm(index uint64) {
	for _, c := range []Cause{Rewound, Fees, Refused, Unsignable, Unfilled} {
		m.alarm(Alarm{Cause: c, Index: index}, false)
	}
}

// calmGone ends the alarms about nonces below the account's next one (best) that have no slot: they
// are final, or gaps that another holder of the key filled.
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

// alarmFunds raises or ends the alarm about the balance. It ends once neither sending nor signing
// lacks funds, since one transaction may be cheap enough and the next one not.
func (m *machine) alarmFunds(why string) {
	m.alarm(Alarm{Cause: Funds, Whole: true, Why: why}, m.sendLacksFunds || m.signLacksFunds)
}

// unclear ends the alarm about an unrecognised refusal of any other intent and raises the one for
// the intent that why names, if why is such a refusal.
func (m *machine) unclear(why error) {
	var of ID
	if held, ok := errors.AsType[*heldError](why); ok && errors.Is(why, chain.ErrUnclear) {
		of = held.intent
	}
	for a, raised := range m.alarms { // at most one is raised, so the order of the map does not matter
		if raised && a.Cause == Unclear && a.Intent != of {
			m.alarm(a, false)
		}
	}
	if of != (ID{}) {
		// Whole, since an unsigned intent has no nonce and all later intents wait for it.
		m.alarm(Alarm{Cause: Unclear, Whole: true, Intent: of, Why: why.Error()}, true)
	}
}
