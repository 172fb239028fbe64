package pending

import (
	"fmt"
	"slices"
	"strings"

	"github.com/conchhq/conch/fence"
)

// Alarms are raised and ended by all parts, each by its cause and subject. While one is raised, another Why is not
// reported. What is here decides when an alarm about a nonce ends with it, and when the account counts as poor.

// setAlarm reports a change of an alarm.
func (a *account) setAlarm(one Alarm, raised bool) {
	key := Alarm{Cause: one.Cause, Whole: one.Whole, Index: one.Index, Intent: one.Intent}
	if a.alarms[key] == raised {
		return
	}
	one.Raised = raised
	if a.alarms[key] = raised; !raised {
		delete(a.alarms, key)
		one.Why = ""
	}
	if s := a.slots.slotAt(one.Index); s != nil && !one.Whole {
		s.waits = ""
		if raised {
			s.waits = strings.TrimSuffix(one.Cause.String()+": "+one.Why, ": ")
		}
	}
	a.giveOrder(one)
}

// endAlarms ends every alarm about one nonce; each cause with an Index is listed here.
func (a *account) endAlarms(index uint64) {
	for _, cause := range []Cause{Rewound, Fees, Refused, Unsignable, Unfilled, Disagree, Unproven, Consumed, Untold} {
		a.setAlarm(Alarm{Cause: cause, Index: index}, false)
	}
}

// endPastAlarms ends the alarms about nonces below the account's next one (best) that have no slot:
// they are final, or gaps that another holder of the key filled. One with an alarm does not leave the line.
func (a *account) endPastAlarms() {
	var gone []uint64
	for one, raised := range a.alarms {
		if raised && !one.Whole && one.Index < a.best && a.slots.slotAt(one.Index) == nil {
			gone = append(gone, one.Index)
		}
	}
	slices.Sort(gone) // so that alarms end in a fixed order
	for _, index := range gone {
		a.endAlarms(index)
	}
}

// endOthers ends the alarms of a cause, but for those about some intents. Of such a cause hardly ever more than one is
// raised, so the order of the map does not matter.
func (a *account) endOthers(cause Cause, spared ...ID) {
	for one, raised := range a.alarms {
		if raised && one.Cause == cause && !slices.Contains(spared, one.Intent) {
			a.setAlarm(one, false)
		}
	}
}

// funds says what is known of the account's money. Its alarm ends once neither sending nor signing lacks any, since one
// transaction may be cheap enough and the next one not.
type funds struct {
	sending shortage // what the node's last answers say
	signing shortage // what the last signing says
	poor    int      // how many intents wait for money that others pass, as last counted
}

// shortage says whether the account could not pay. One answer raises no alarm: an endpoint that is behind does not know
// of money that has come in.
type shortage struct {
	lacks  bool
	sure   bool          // it was so at a later head too, or for long
	height uint64        // the chain's at the first answer
	from   fence.Instant // of the first answer
}

// noteShortage takes a further answer.
func (a *account) noteShortage(of *shortage, lacks bool, now fence.Instant) {
	switch {
	case !lacks:
		*of = shortage{}
	case !of.lacks:
		*of = shortage{lacks: true, height: a.head.Number, from: now}
	default:
		of.sure = of.sure || a.head.Number > of.height || now >= of.from.Add(a.set.RejectAfter)
	}
}

// alarmFunds raises or ends the alarm about the balance.
func (a *account) alarmFunds(why string) {
	if why == "" && a.funds.poor > 0 {
		why = fmt.Sprintf("%d waiting transactions, which others pass", a.funds.poor)
	}
	a.setAlarm(Alarm{Cause: Funds, Whole: true, Why: why}, a.funds.sending.sure || a.funds.signing.sure || a.funds.poor > 0)
}

// notePutOff takes a count of the intents that others pass. No single one of them is named: one that is cancelled
// is heard of no more.
func (a *account) notePutOff(now Waits) {
	a.funds.poor = now.Poor
	a.alarmFunds("")
	a.setAlarm(Alarm{Cause: Unclear, Whole: true, Why: fmt.Sprintf("%d waiting transactions, which others pass", now.Unclear)}, now.Unclear > 0)
}
