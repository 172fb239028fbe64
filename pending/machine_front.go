package pending

import (
	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// front decides what happens if the lowest nonce that is in no block stays there: its attempt is sent again, then pays
// more; a gap is filled. All later nonces wait for it.
//
// It takes the head, the time, and best as it is after each input. It asks for nothing: it marks slots, and names gaps,
// which signing and sending read.
type front struct {
	*account

	index uint64 // the lowest nonce that is not in a block, as of the last census
	since uint64 // the height at which index last changed

	from   fence.Instant // the instant of since
	marked [3]struct {   // by the speed of slots: when they were last marked as stuck
		at   uint64 // the height
		from fence.Instant
	}
}

// noteHead takes the height of a new head. Waiting times begin with the first one. After a rewind the noted heights may
// lie above the head.
func (f *front) noteHead(height uint64, first bool) {
	if first {
		f.since = height
	}
	f.since = min(f.since, height)
	for i := range f.marked {
		if f.marked[i].at = min(f.marked[i].at, height); first {
			f.marked[i].at = height
		}
	}
}

// noteProgress notes at which height the front has changed. An idle account has waited for nothing.
func (f *front) noteProgress(now fence.Instant) {
	if f.best != f.index || f.census.inFlight == 0 {
		f.index, f.since, f.from = f.best, f.head.Number, now
	}
}

// stuckBlocks is how many blocks have to come before a transaction that is in none of them counts as stuck.
const stuckBlocks = 3

// markStuck makes the account's first slots pay more once RaiseAfter, or what their speed makes of it, and some blocks have passed in
// which no transaction of the account was included and no slot of that speed was marked. It marks a batch of them: one at a time, each
// would wait for RaiseAfter. It passes over attempts that no node has.
func (f *front) markStuck(now fence.Instant) {
	for _, speed := range chain.Speeds() {
		last, wait := &f.marked[speed], speed.Patience(f.set.RaiseAfter)
		if wait <= 0 || f.head.Number < max(f.since, last.at)+stuckBlocks || now < max(f.from, last.from).Add(wait) {
			continue
		}
		f.firstSlots(uint64(f.set.MaxBatch), func(s *slot) {
			if s.Speed == speed && s.withNode() {
				s.payMore, s.stuck, f.census.outdated = true, true, true
			}
		})
		last.at, last.from = f.head.Number, now
	}
}

// offered is how many of an account's first slots are sent again before any of them is raised. Each pool
// takes so many of an account.
const offered = 16

// offerAgain sends the first slots again as they are once ResendAfter blocks have passed without progress:
// an endpoint that was away has not had them, and one that has taken them may never pass them on (W8).
func (f *front) offerAgain() {
	if f.head.Number < f.since+f.set.ResendAfter {
		return
	}
	f.firstSlots(offered, func(s *slot) {
		if s.withNode() || s.in == nil && s.wantsRenewal() { // a node that was behind may take it by now
			s.again, f.census.unsent = true, true
		}
	})
}

// firstSlots visits the slots of so many nonces from the front on, as far as the first gap: nothing above a gap can be
// included. A slot that has left the line is in a block, or comes back as not sent.
func (f *front) firstSlots(most uint64, visit func(*slot)) {
	for index := f.index; index < f.index+most; index++ {
		s := f.slots.slotAt(index)
		if s != nil {
			visit(s)
		} else if f.deep.runOf(index) == nil {
			return
		}
	}
}

// findGaps returns the nonces from best up to next that have no slot, in the line or out of it, after FillAfter blocks
// without progress: rows were lost, or a transaction that another holder of the key sent has vanished.
func (f *front) findGaps() (missing []uint64) {
	if f.set.FillAfter == 0 || f.head.Number < f.since+f.set.FillAfter {
		return nil
	}
	slots, runs := f.slots.slotsFrom(f.best), f.deep.runsFrom(f.best)
	for index := f.best; index < f.next && len(missing) < f.set.MaxBatch; index++ {
		switch {
		case len(slots) > 0 && slots[0].Index == index:
			slots = slots[1:]
		case len(runs) > 0 && runs[0].First <= index:
			index, runs = runs[0].Last, runs[1:]
		default:
			missing = append(missing, index)
		}
	}
	return missing
}
