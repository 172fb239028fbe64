package pending

import (
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// signing decides which attempts are signed: replacements before the first attempts of waiting intents, since all slots
// above a stuck one are stuck too. It knows why nothing is signed, and says so to waiting intents (W17).
//
// It takes woken, stored, raised, and what of the queue a load has found. It asks for assign and replace.
type signing struct {
	*account

	span    *life    // may halt all, or ask for a pad first
	front   *front   // names the gaps
	unknown *unknown // may bar new nonces
	window  *window  // how many nonces from best on may be signed

	queued    int           // intents that wait for a slot
	heard     int           // the highest count of them since the last assign began
	most      int           // how many intents the next assign may have: fewer after one that failed
	replacing []replacement // what the replace under way signs; nil during an assign
	stopped   Hold          // why the last signing stopped
	heldAt    uint64        // sign nothing until the head has this height, or until heldBy
	heldBy    fence.Instant // see heldAt
}

// askAttempts asks for replacements or for new slots.
func (g *signing) askAttempts(now fence.Instant) {
	if g.underway.isUnderway(toSign) || g.isPaused(now) || g.head.Number < g.heldAt && now < g.heldBy {
		return
	}
	if wanted := g.findReplacements(now); len(wanted) > 0 {
		g.replacing = wanted
		g.giveOrder(replace{Replacements: wanted})
		return
	}
	if g.unknown.isBarring() || g.queued == 0 {
		return
	}
	if g.isPadding() {
		g.askPad()
		return
	}
	room := min(g.most, g.roomBehindCap())
	if room <= 0 {
		return
	}
	allowed := g.window.allowsMore(g.best, g.next)
	if allowed < min(room, g.queued) {
		g.window.pressed = true
	}
	if room = min(room, allowed); room == 0 { // also if fewer seem to wait: a store may stop counting
		return
	}
	g.replacing, g.heard = nil, 0
	g.giveOrder(assign{
		First: g.next, Most: room, Best: g.best, Owed: g.sumOwed(), Relaxed: g.set.Relaxed, RejectAfter: g.set.RejectAfter, Stood: g.stood,
	})
}

// askPad asks for the pad, unless there is one.
func (g *signing) askPad() {
	if len(g.slots.inOrder()) == 0 && !g.landed {
		g.replacing = []replacement{{Index: g.next, Filler: true, Gap: true, Brief: true}}
		g.giveOrder(replace{Replacements: g.replacing})
	}
}

// sumOwed returns the most that the account's transactions that are in no block may still take from its balance.
func (g *signing) sumOwed() *big.Int {
	sum := new(big.Int)
	for _, s := range g.slots.slotsFrom(g.best) {
		if s.in == nil {
			sum.Add(sum, s.mostCost())
		}
	}
	return sum
}

// findReplacements returns the attempts to sign: first those that fill gaps, since all slots above a gap
// wait for it, then those that replace the last attempt of a slot, lowest nonce first.
func (g *signing) findReplacements(now fence.Instant) (wanted []replacement) {
	for _, index := range g.front.findGaps() {
		wanted = append(wanted, replacement{Index: index, Filler: true, Gap: true})
	}
	if !g.census.outdated {
		return wanted
	}
	for _, s := range g.slots.inOrder() {
		if len(wanted) == g.set.MaxBatch {
			break
		}
		if s.in != nil || s.Index < g.best { // the nonce is used
			continue
		}
		if s.doubt || s.handingOn() { // wait until it is known where the attempts are, and whose they are
			continue
		}
		attempt, delivery := s.lastAttempt()
		if s.renewing = s.wantsRenewal(); s.renewing {
			s.payMore, s.stuck = false, false // there is nothing to outbid
			if s.needsFiller() || s.Index-g.best < uint64(g.window.size) && g.mayRenew(s) {
				wanted = append(wanted, g.renewalOf(s))
			}
			continue
		}
		if s.payMore && now < delivery.after {
			g.pace.remindAt(delivery.after)
			continue
		}
		if s.payMore && s.isDear(g.set.MostRaise) {
			if delivery.reached != refused { // a refused attempt has its own alarm: Refused or Unfilled
				g.capSlot(s, s.whyDear(g.set.MostRaise))
			}
			s.keepLast()
			g.census.unsent = true
		}
		if s.payMore || s.needsFiller() {
			one := s.replacement()
			one.Above, one.Stuck = attempt.Fee, s.stuck && !s.needsFiller()
			if s.refit && s.invalidAt != 0 && !one.Filler { // no node has taken any, so none was executed
				one.Gas = 0
			}
			wanted = append(wanted, one)
		}
	}
	return wanted
}

// replacement returns what is asked for in the place of the last attempt.
func (s *slot) replacement() replacement {
	attempt, _ := s.lastAttempt()
	one := replacement{Index: s.Index, Brief: s.brief, Before: len(s.Attempts), Gas: attempt.Gas, Filler: s.lastIsFiller() || s.needsFiller(), Terms: s.Terms}
	if s.Late && !s.void && !s.Cancel && !s.handedOn() {
		one.Late = s.Intent
	}
	return one
}

// renewalOf returns what is asked for in the place of an attempt that is outworn: there is nothing to outbid.
func (g *signing) renewalOf(s *slot) replacement {
	attempt, _ := s.lastAttempt()
	one := s.replacement()
	one.Same = attempt.Fee
	for i := range s.Attempts {
		one.Outworn = append(one.Outworn, s.Attempts[i].Hash)
	}
	return one
}

// takeStored takes in attempts that were signed and committed. From here on they may be sent.
func (g *signing) takeStored(now fence.Instant, in stored) {
	if g.replacing == nil {
		g.queued = max(in.Left, g.heard) // an assign; a replace does not count the queue
		g.most = min(2*g.most, g.set.MaxBatch)
	}
	for _, add := range in.Slots {
		for _, a := range add.Attempts {
			g.until = max(g.until, a.Until)
		}
		s := g.slots.slotAt(add.Index)
		if s == nil && g.wasReplacing(add.Index) {
			continue // another attempt of the slot became final meanwhile
		}
		if s == nil {
			s = &slot{Slot: add, deliveries: make([]delivery, len(add.Attempts)), brief: g.isPadding()}
			s.saved = s.asChange(false) // the store has written this state
			s.noteSigned(&g.tip)
			s.setDue(now)
			g.slots.addSlot(s)
			g.next = max(g.next, add.Index+1)
			g.setAlarm(Alarm{Cause: Fees, Index: s.Index}, false) // about the gap that it fills
			continue
		}
		s.Attempts = append(s.Attempts, add.Attempts...)
		s.deliveries = append(s.deliveries, make([]delivery, len(add.Attempts))...)
		s.payMore, s.stuck = false, false
		if s.renewing {
			s.invalidAt = 0 // that was about other bytes
		}
		s.noteSigned(&g.tip)
		g.uncapSlot(s)
	}
	for _, one := range in.Unsigned {
		g.takeUnsigned(now, one)
	}
	g.noteStop(now, in.Hold)
	if in.Waits != nil {
		g.notePutOff(*in.Waits)
	}
}

// wasReplacing reports whether the replace that has ended was to replace an attempt of an old slot.
func (g *signing) wasReplacing(index uint64) bool {
	return slices.ContainsFunc(g.replacing, func(one replacement) bool { return one.Index == index && !one.Gap })
}

// takeUnsigned raises an alarm about a replacement that the fee limit or the chain forbids. Any other
// error concerns the account: the slot still needs the replacement, and noteStop makes a pause.
func (g *signing) takeUnsigned(now fence.Instant, failed unsigned) {
	s := g.slots.slotAt(failed.Index)
	why := failed.Why.Error()
	switch {
	case errors.Is(failed.Why, chain.ErrEnough):
		if s == nil || !s.stuck { // it is still needed, and would be asked for again at once
			g.holdSigning(now)
		}
		if s != nil {
			s.payMore, s.stuck = false, false
			s.noteUnrenewed(&g.tip)
			g.uncapSlot(s)
		}
	case errors.Is(failed.Why, chain.ErrFee) && s != nil:
		s.keepLast()
		g.capSlot(s, why)
	case errors.Is(failed.Why, chain.ErrFee): // a gap
		g.setAlarm(Alarm{Cause: Fees, Index: failed.Index, Why: why}, true)
	case errors.Is(failed.Why, chain.ErrCall):
		if s != nil {
			s.keepLast()
		}
		g.setAlarm(Alarm{Cause: Unsignable, Index: failed.Index, Why: why}, true)
	}
}

// noteStop takes the reason why no more was signed, nil if there is none. It raises or ends the alarms
// about that, and nothing is signed before the next block, or for Patience if none comes.
func (g *signing) noteStop(now fence.Instant, why error) {
	short := &g.funds.signing
	g.noteShortage(short, errors.Is(why, chain.ErrFunds) && !errors.Is(why, chain.ErrOwed), now)
	g.stopped = holdOf(why)
	text := ""
	if why != nil {
		text = why.Error()
		g.holdSigning(now)
	}
	if short.lacks {
		g.alarmFunds(text)
	} else {
		g.alarmFunds("")
	}
	if g.replacing == nil { // the alarms of a replace name their slots; see takeUnsigned
		g.setAlarm(Alarm{Cause: Fees, Whole: true, Why: text}, errors.Is(why, chain.ErrFee))
		g.alarmUnclear(why)
	}
	g.setAlarm(Alarm{Cause: Keys, Whole: true, Why: text}, errors.Is(why, chain.ErrKey))
}

// holdSigning stops signing until the next block, or for Patience if none comes.
func (g *signing) holdSigning(now fence.Instant) {
	g.heldAt, g.heldBy = g.head.Number+1, now.Add(g.set.Patience)
}

// alarmUnclear raises the alarm about an unrecognised refusal, if why is one, and ends any other.
func (g *signing) alarmUnclear(why error) {
	var refused ID
	if held, ok := errors.AsType[*heldError](why); ok && errors.Is(why, chain.ErrUnclear) {
		refused = held.intent
	}
	g.endOthers(Unclear, refused)
	if refused != (ID{}) {
		// Whole, since an unsigned intent has no nonce and all later intents wait for it.
		g.setAlarm(Alarm{Cause: Unclear, Whole: true, Intent: refused, Why: why.Error()}, true)
	}
}

// takeLoaded takes what waits from the stored rows.
func (g *signing) takeLoaded(in Snapshot) {
	g.queued, g.heldAt = in.Waits.Queued, 0
	g.notePutOff(in.Waits)
}

// takeWaits takes how many intents wait. A hint mostly means some that are being signed already.
func (g *signing) takeWaits(in woken) {
	if g.queued = max(g.queued, in.Queued); in.Counted {
		g.heard = max(g.heard, in.Queued)
		g.notePutOff(in.Waits)
	}
}

// takeRaised takes that the limit of the account has changed: what it has stopped is tried at once.
func (g *signing) takeRaised() {
	g.pace.paused, g.heldAt = 0, 0
	for _, s := range g.slots.inOrder() {
		if s.capped {
			s.payMore, s.stuck = true, s.withNode()
		}
	}
}

// takeFailed takes that an assign or a replace has failed. An assign may have been too much for the time that it had.
func (g *signing) takeFailed(failed action) {
	if one, is := failed.(assign); is {
		g.most = max(1, min(g.most, one.Most)/2)
	}
}

// endHold forgets a pause that is over, and nextDue returns when one ends; 0 means never.
func (g *signing) endHold(now fence.Instant) {
	if now >= g.heldBy {
		g.heldAt = 0
	}
}

func (g *signing) nextDue() fence.Instant {
	if g.heldAt > g.head.Number {
		return g.heldBy
	}
	return 0
}

// whyWaiting returns why no waiting intent gets a slot, the zero Hold if nothing is in the way or none waits.
func (g *signing) whyWaiting() Hold {
	if g.queued == 0 {
		return Hold{}
	}
	if halted := g.span.whyHalted(); halted != (Hold{}) {
		return halted
	}
	if barred := g.unknown.whyBarred(); barred != (Hold{}) {
		return barred
	}
	if s := g.census.capped; s != nil && g.roomBehindCap() == 0 {
		return Hold{Why: fmt.Sprintf("no more than %d wait behind the nonce %d, which waits: %s", behindCap, s.Index, s.waits)}
	}
	return g.stopped
}

// holdOf returns the hold for an error of signing.
func holdOf(why error) Hold {
	if why == nil {
		return Hold{}
	}
	hold := Hold{Why: why.Error()}
	if held, ok := errors.AsType[*heldError](why); ok {
		hold = Hold{Intent: held.intent, Why: held.why.Error()}
	}
	return hold
}

// behindCap is how many nonces may follow a capped one. More would only wait in the pool.
const behindCap = offered

// roomBehindCap returns how many nonces from next on may be assigned behind the lowest capped slot.
func (g *signing) roomBehindCap() int {
	s := g.census.capped
	if s == nil {
		return g.set.MaxInFlight
	}
	return max(0, int(s.Index)+behindCap+1-int(g.next))
}
