package pending

import "github.com/conchhq/conch/fence"

// saving decides when new states of slots are stored, and drops the slots that are stored as final. Beside them it stores
// why intents wait.
//
// It takes the states of the slots as they are after each input, and saved. It asks for save.
type saving struct {
	*account

	signing *signing // knows what waits, and why

	at        uint64        // the height at which changes were last stored
	from      fence.Instant // while busy, store no changes before this instant
	by        fence.Instant // store changes at this instant even if no block has come
	savedHold Hold          // the hold last stored
}

// askSave stores changed states: at once, or, while busy, at most once a block and once every Pace,
// since many slots are final a few blocks later. While busy it also leaves out attempts that were
// sent a moment ago, since the next block changes them.
func (v *saving) askSave(now fence.Instant) {
	if v.underway.isUnderway(toSave) {
		return
	}
	busy := v.underway.isUnderway(toSend|toSign) || v.signing.queued > 0 && !v.signing.unknown.strange.on || v.census.inFlight > v.set.MaxBatch
	if busy && now < v.from {
		v.pace.remindAt(v.from)
		return
	}
	if busy && v.at == v.head.Number && now < v.by {
		v.pace.remindAt(v.by)
		return
	}
	do := save{Changes: v.findChanges(now, busy)}
	if hold := v.signing.whyWaiting(); hold != v.savedHold {
		v.savedHold, do.Hold = hold, &hold
	}
	if len(do.Changes) > 0 || do.Hold != nil {
		v.at, v.by, v.from = v.head.Number, now.Add(v.set.Patience), now.Add(v.set.Pace)
		v.giveOrder(do)
	}
}

// findChanges returns the states that are not stored, and notes that they are being stored.
func (v *saving) findChanges(now fence.Instant, busy bool) (changes []Change) {
	var changed []*slot
	for _, s := range v.slots.inOrder() {
		c := s.asChange(v.timedOut(s, now))
		if c == s.saved || s.isUnheard() || s.endStands() || s.dead { // dead ones end with their life
			continue
		}
		if _, delivery := s.lastAttempt(); busy && s.in == nil && !s.retracted && now < delivery.after.Add(v.set.Patience) {
			v.pace.remindAt(delivery.after.Add(v.set.Patience))
			continue
		}
		changes, changed = append(changes, c), append(changed, s)
	}
	for i, s := range changed { // only now, since they have moved while their number grew
		s.saving = &changes[i]
	}
	return changes
}

// takeSaved notes what was stored, and drops the slots that are stored as final.
func (v *saving) takeSaved() {
	v.slots.sweepSlots(func(s *slot) bool { // in order, since alarms may end
		if s.saving != nil {
			s.saved, s.saving = *s.saving, nil
			if s.saved.Intent == Again { // even if the chain has taken it back meanwhile
				s.Intent = nil
				v.signing.queued++
			}
		}
		over := s.saved.Status.closes() && (s.dead || s.inFinal && s.saved.Block.Hash == s.in.Block.Hash)
		if over {
			v.landed = v.landed || s.isOwn()
			v.endAlarms(s.Index)
			v.loadedFrom, v.finalBelow = max(v.loadedFrom, s.Index+1), max(v.finalBelow, s.Index+1)
		}
		return over
	})
}

// takeFailed forgets a save that has failed. Storing a change twice is harmless.
func (v *saving) takeFailed() {
	for _, s := range v.slots.inOrder() {
		s.saving = nil
	}
}
