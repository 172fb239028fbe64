package pending

import (
	"math"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// rows decides when the stored rows are read, and starts the account over from them (S20).
//
// It takes loaded, moved, lost, rested, woken and what blocks have. It asks for load.
type rows struct {
	*account

	phase    phase
	readFrom uint64 // see load.Final
	resting  bool   // the chain is not followed: it is asked for its count before the next nonce is assigned
}

// phase tells whether the machine knows the account's slots.
type phase uint8

const (
	blank   phase = iota // nothing is known, and no load is under way that will do
	loading              // a load is under way, and nothing has happened that its answer could miss
	working
)

// noFinal is a nonce that no transaction has.
const noFinal uint64 = math.MaxInt64

// askLoad reads the rows if nothing is known. A write that is under way may still change them.
func (r *rows) askLoad() {
	if r.phase == blank && !r.underway.isUnderway(toLoad|toSign|toSave) {
		r.phase = loading
		r.giveOrder(load{Final: r.readFrom})
	}
}

// takeLoaded starts over from the stored rows, and reports whether it did. Blocks have passed, and a predecessor may have
// sent any attempt. So a slot that the chain does not count as used is sent again as it is, and one that it counts is
// in the block that was last stored, until that proves wrong, or in doubt. The answer is dropped if the phase
// has changed since, because it lacks rows stored meanwhile.
func (r *rows) takeLoaded(now fence.Instant, in loaded) bool {
	if r.phase != loading {
		return false
	}
	r.phase = working
	r.slots.clearSlots()
	r.deep = r.set.restoredRuns(in.Snapshot.Runs, now)
	lowest := in.Snapshot.Next // of the nonces that are not stored as final
	if len(r.deep.order) > 0 {
		lowest = r.deep.order[0].First
	}
	for _, s := range in.Snapshot.Slots {
		one := restoredSlot(s, in.Best)
		one.inSince, one.brief = r.storedIn(one, now), r.isPadding()
		one.restoreRenewal(r.set.Era)
		one.setDue(now)
		r.slots.addSlot(one)
		r.setAlarm(Alarm{Cause: Rewound, Index: s.Index}, s.Final && s.Index >= in.Best && one.in == nil)
		if !s.Final {
			lowest = min(lowest, s.Index)
		}
	}
	r.loadedFrom, r.finalBelow = min(in.Best, max(r.next, in.Snapshot.Next)), max(r.finalBelow, min(lowest, in.Best))
	r.loadedFrom, r.readFrom = min(r.loadedFrom, r.readFrom), noFinal
	r.next = max(r.next, in.Snapshot.Next)
	r.lower, r.pace.paused = 0, 0
	return true
}

// forgetRows has the rows read again before anything is done.
func (r *rows) forgetRows() { r.phase = blank }

// readFinal has the rows read again, from a nonce on also those that are final.
func (r *rows) readFinal(from uint64) {
	r.readFrom, r.phase = min(r.readFrom, max(from, r.life.First)), blank
}

// lookForFinal looks for nonces that are stored as final and no longer in memory. They were in other blocks, which have left
// the chain, even if every count of it has been as high as before. So their rows are read again, and looked up.
func (r *rows) lookForFinal(with []chain.Inclusion) {
	for _, inc := range with {
		if inc.Index >= r.loadedFrom || r.slots.slotAt(inc.Index) != nil || r.deep.runOf(inc.Index) != nil {
			continue
		}
		r.readFinal(inc.Index)
	}
}

// beginRest takes that the heads are no longer followed: waiting times begin with the next one.
func (r *rows) beginRest() {
	r.resting = true
	r.head, r.final = chain.Block{}, chain.Block{}
}

// endRest has the rows read once something waits: another holder of the key may have used the next nonce meanwhile (W6).
func (r *rows) endRest() {
	if r.resting {
		r.resting, r.phase = false, blank
	}
}
