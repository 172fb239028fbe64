package pending

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// alarm reports a change of an alarm, which is known by its cause and subject. While it is raised,
// another Why is not reported.
func (m *machine) alarm(a Alarm, raised bool) {
	key := Alarm{Cause: a.Cause, Whole: a.Whole, Index: a.Index, Intent: a.Intent}
	if m.alarms[key] == raised {
		return
	}
	a.Raised = raised
	if m.alarms[key] = raised; !raised {
		delete(m.alarms, key)
		a.Why = ""
	}
	if s := m.slots.get(a.Index); s != nil && !a.Whole {
		s.waits = ""
		if raised {
			s.waits = strings.TrimSuffix(a.Cause.String()+": "+a.Why, ": ")
		}
	}
	m.do(a)
}

// endAlarms ends every alarm about one nonce; each cause with an Index is listed here.
func (m *machine) endAlarms(index uint64) {
	for _, cause := range []Cause{Rewound, Fees, Refused, Unsignable, Unfilled, Disagree, Unproven, Consumed} {
		m.alarm(Alarm{Cause: cause, Index: index}, false)
	}
}

// endPastAlarms ends the alarms about nonces below the account's next one (best) that have no slot:
// they are final, or gaps that another holder of the key filled. One with an alarm does not leave the line.
func (m *machine) endPastAlarms() {
	var gone []uint64
	for a, raised := range m.alarms {
		if raised && !a.Whole && a.Index < m.best && m.slots.get(a.Index) == nil {
			gone = append(gone, a.Index)
		}
	}
	slices.Sort(gone) // so that alarms end in a fixed order
	for _, index := range gone {
		m.endAlarms(index)
	}
}

// shortage says whether the account could not pay. One answer raises no alarm: an endpoint that is behind does not know
// of money that has come in.
type shortage struct {
	lacks  bool
	sure   bool          // it was so at a later head too, or for long
	height uint64        // the chain's at the first answer
	from   fence.Instant // of the first answer
}

// lacking takes a further answer.
func (m *machine) lacking(before shortage, lacks bool, now fence.Instant) shortage {
	switch {
	case !lacks:
		return shortage{}
	case !before.lacks:
		return shortage{lacks: true, height: m.head.Number, from: now}
	}
	before.sure = before.sure || m.head.Number > before.height || now >= before.from.Add(m.set.RejectAfter)
	return before
}

// alarmFunds raises or ends the alarm about the balance. It ends once neither sending nor signing
// lacks funds, since one transaction may be cheap enough and the next one not.
func (m *machine) alarmFunds(why string) {
	if why == "" && m.putOff.Poor > 0 {
		why = fmt.Sprintf("%d waiting transactions, which others pass", m.putOff.Poor)
	}
	m.alarm(Alarm{Cause: Funds, Whole: true, Why: why}, m.sendLacksFunds.sure || m.signLacksFunds.sure || m.putOff.Poor > 0)
}

// notePutOff takes a count of the intents that others pass. No single one of them is named: one that is cancelled
// is heard of no more.
func (m *machine) notePutOff(now PutOff) {
	m.putOff = now
	m.alarmFunds("")
	m.alarm(Alarm{Cause: Unclear, Whole: true, Why: fmt.Sprintf("%d waiting transactions, which others pass", now.Unclear)}, now.Unclear > 0)
}

// alarmUnclear raises the alarm about an unrecognised refusal, if why is one, and ends any other.
func (m *machine) alarmUnclear(why error) {
	var refused ID
	if held, ok := errors.AsType[*heldError](why); ok && errors.Is(why, chain.ErrUnclear) {
		refused = held.intent
	}
	for a, raised := range m.alarms { // at most one is raised, so the order of the map does not matter
		if raised && a.Cause == Unclear && a.Intent != refused {
			m.alarm(a, false)
		}
	}
	if refused != (ID{}) {
		// Whole, since an unsigned intent has no nonce and all later intents wait for it.
		m.alarm(Alarm{Cause: Unclear, Whole: true, Intent: refused, Why: why.Error()}, true)
	}
}
