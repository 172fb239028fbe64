package committee

import (
	"time"

	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Figures by which a run is judged.
const (
	builtOnDead  = "built on the dead"
	skippedLate  = "skipped while blocks were late, after the faults"
	skippedAfter = "skipped after the faults"
	skippedLast  = "skipped last after the faults, ms_max"
)

// judgeSkipped counts what a block has skipped, apart: copies of what is public, what is in a block again after a
// reorganisation, and what coordinators have handed over in vain, by its cause. Only those are theirs.
func (r *run) judgeSkipped(s *sent, e ledger.Entry, f ledger.Fact) {
	r.Check(!r.cfg.Calm, NothingSkipped, "block %d skips %v of %s: %v", r.chain.head.Number(), f.Intent.Sequence, string(f.Intent.Owner), f.Skipped)
	switch {
	case s.copied:
		r.Stats["skipped copies"]++
		return
	case s.mined:
		r.Stats["skipped after a reorganisation"]++
		return
	}
	r.Stats["skipped"]++
	r.Stats["skipped: "+r.chain.why(e, f, s.handed)]++
	switch after := r.w.Now() - r.calmed; {
	case r.calmed == 0:
	case after < 0:
		r.Stats[skippedLate]++
	default:
		r.Stats[skippedAfter]++
		r.Stats[skippedLast] = after.Milliseconds()
	}
}

// builtOn notes which of the attempts that reach a coordinator could not land any more by the blocks that it has followed. It
// cannot know that while it lacks the contents of what has landed.
func (r *run) builtOn(n *node, body wire.Assembled) {
	if n.Book == nil || len(n.Book.Missing()) > 0 {
		return
	}
	head := n.height()
	for _, a := range body.Results {
		h := r.scheme.Assembled(r.contract, a.Attempt)
		if a.Why == wire.Done && r.chain.past.dead(h, head) {
			n.dead[h] = true
		}
	}
}

// judgeBuilt counts what is dispatched and was built on the dead.
func (r *run) judgeBuilt(n *node, e ledger.Entry) {
	if n.dead[e.Grant.Assembled] {
		r.Stats[builtOnDead]++
	}
}

// What the rules of liveness allow in a world with few notes. In two hundred runs up to 11 % of what is dispatched was built on the dead
// (without the rule, up to 72 %). A node whose blocks are late is behind until they have come, also when no fault comes any more: it
// goes on with what the ledger has skipped since, and no member may know better, since each is behind. One whose blocks are as late as
// a grant lasts had 2,694 entries skipped so, which no rule promises to prevent. From then on, up to 331 were, for 3 s at most.
const (
	mostDead    = 8               // one of so many
	mostSkipped = 500             // after the last fault, and after the last block that was late
	skipsEnd    = 5 * time.Second // after it
)

// judgeSkips is about liveness: nothing is built on the dead, and soon after the last fault and the last late block nothing is skipped
// any more.
func (r *run) judgeSkips() {
	if r.scene == nil || r.scene.Plot.goesOn == 0 {
		return
	}
	dead, all := r.Stats[builtOnDead], r.Stats["dispatched"]
	r.Check(dead*mostDead <= all, NothingOnTheDead, "%d of %d entries were built on what could not land any more", dead, all)
	skipped, last := r.Stats[skippedAfter], time.Duration(r.Stats[skippedLast])*time.Millisecond
	r.Check(skipped <= mostSkipped && last <= skipsEnd, SkipsEnd, "%d entries were skipped after the faults, the last one after %v", skipped, last)
}
