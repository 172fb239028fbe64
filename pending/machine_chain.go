package pending

import (
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// tip is what the chain has shown: its head and its last final block. It decides when a count that is too low is
// believed, and when time counts in the place of blocks.
//
// It takes turned, and the time. It asks for nothing.
//
// A chain that makes blocks on demand makes none while nobody sends anything, and then nothing would come that some
// decisions wait for: a later final block for the second look at an end (W2), two blocks after a first refusal (W7,
// W12) or after a count above the rows (W5), a final block after a failover (W6). So once its head has not moved for
// StillAfter, time counts for a block, and again after each StillAfter more. A claim says so: with one endpoint its
// second look is at the same block, asked for anew. Where blocks come in that time nothing is different.
type tip struct {
	head    chain.Block   // the newest block of the best chain
	final   chain.Block   // the last final block, an ancestor of head; zero if it is not known
	finalBy string        // the endpoint that called it final
	finals  uint64        // counts the turns that named a final block
	still   bool          // the head stands: see standStill
	stood   uint64        // how many blocks time has counted for
	movedAt fence.Instant // when the head last moved, or time last counted for a block
	unwound bool          // a block has left the chain since the last one was applied
	lower   int           // counts in a row that were below best, although no block had left the chain

	versions []version // of the chain's runtime, on the branch of head; empty: there is none, or it is not known
}

// atHeight is the height of the head and what time has counted for: what some blocks have to pass for is measured by it.
func (t *tip) atHeight() uint64 { return t.head.Number + t.stood }

// takeTurn takes what has happened to a block, and reports whether what was final is so no longer.
func (t *tip) takeTurn(turn chain.Turn, now fence.Instant) (undone bool) {
	switch turn.Kind {
	case chain.Applied:
		t.still, t.movedAt, t.head = false, now, turn.Block
	case chain.Reverted:
		t.still, t.movedAt, t.unwound = false, now, true
		if undone = turn.Block.Number <= t.final.Number; undone {
			t.final = chain.Block{} // no longer an ancestor of the head
		}
	case chain.Finalized:
		t.final, t.finalBy = turn.Block, turn.By
		t.finals++
	}
	return undone
}

// standStill counts time for a block if the head stands, and reports whether it did. It returns when time counts next;
// 0 means never.
func (t *tip) standStill(after time.Duration, now fence.Instant) (counts bool, next fence.Instant) {
	if after <= 0 || t.head.Hash == "" {
		return false, 0
	}
	if due := t.movedAt.Add(after); now < due {
		return false, due
	}
	t.still, t.movedAt = true, now
	t.stood++
	if t.final.Hash != "" {
		t.finals++
	}
	return true, now.Add(after)
}

// maxLower is how many counts in a row may be below best, although no block has left the chain, before
// they are believed. An endpoint behind which several nodes stand sometimes answers from an older head.
const maxLower = 3

// believeCount returns the account's next nonce, given the count that was read after a block and the one before.
func (t *tip) believeCount(count, best uint64) uint64 {
	if count >= best || t.unwound {
		t.unwound, t.lower = false, 0
		return count
	}
	if t.lower++; t.lower < maxLower {
		return best
	}
	return count
}

// What a turn means for the slots.

// applyBlock places what a block has of the account, and returns the account's next nonce.
func (a *account) applyBlock(in turned) (count uint64) {
	b := in.Turn.Block
	a.deep.stirred = true // some may be overdue
	count = a.believeCount(in.Count, a.best)
	for i := range in.Inclusions {
		inc := &in.Inclusions[i]
		count = max(count, inc.Index+1)
		s := a.slots.slotAt(inc.Index)
		if s == nil {
			a.deep.noteMoved(inc.Index, b)
		}
		if s == nil || s.inFinal {
			continue
		}
		a.placeSlot(s, inc, true)
		s.retracted = s.retracted && !s.isOwn()
	}
	return count
}

// notePassed notes of which slots the chain counts the nonce as used although no block is known to have it:
// it was missed, or another sender's transaction is there. That is no proof (W14).
func (a *account) notePassed(count uint64) {
	for _, s := range a.slots.inOrder() { // one that has left is in a block
		if s.in != nil || count <= s.Index {
			s.passed = 0
			continue
		}
		s.doubt = true
		if s.passed == 0 {
			s.passed = a.head.Number
		}
	}
}

// revertBlock takes back what a block had.
func (a *account) revertBlock(b chain.Block) {
	a.best = a.deep.revertBlock(b, a.best)
	for _, s := range a.slots.inOrder() { // in order, since alarms may be raised
		if s.in != nil && s.in.Block.Hash == b.Hash {
			a.retractSlot(s)
			a.best = min(a.best, s.Index)
		} else if s.first.Number >= b.Number {
			s.first, s.spent = chain.Block{}, false // it was linked to a block that has left the chain
		}
		if s.countAt.Number >= b.Number {
			s.countAt = chain.Block{}
		}
	}
}

// linkFollowed links what was followed from block to block to a new final block: it is an ancestor of that, which is
// one of the head (W1).
func (a *account) linkFollowed() {
	a.deep.stirred = true // those that have left are linked when they come back
	for _, s := range a.slots.inOrder() {
		if s.in != nil && s.streamed && s.first.Hash == "" && s.in.Block.Number <= a.final.Number {
			s.first, s.firstBy = a.final, a.finalBy
		}
	}
}
