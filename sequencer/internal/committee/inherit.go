package committee

import (
	"slices"
	"time"

	"github.com/conchhq/conch/sequencer/internal/coordinator"
	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// judgeDecided looks at what a node is about to store as dispatched: from then on it names it when it is asked, however long its
// submitter takes.
func (r *run) judgeDecided(n *node, rows []coordinator.Row) {
	for _, row := range rows {
		if e := row.Entry(); r.firstTime(n, e) {
			r.judgeBuilt(n, e)
			r.Check(!n.closed[e.Grant.Delegation], InheritedFirst, "%s dispatches %v, and has said that it would not", n.name, e.Intent.Sequence)
		}
	}
}

// closed notes what a node must not dispatch any more, since it has told a better one what it has dispatched: all that
// it had, but for what its senders cannot give to the other.
func (r *run) closed(n *node, asker ledger.Account, asked ranking.Range) {
	if !r.committee.Prefers(asked, string(asker), n.name) || !n.closes(asker, asked) {
		return
	}
	for id, avoid := range n.delegations {
		if !slices.Contains(avoid, asker) {
			n.closed[id] = true
		}
	}
}

// closes reports whether a question for a handover is a new one, or may be one whose answer was lost.
func (n *node) closes(asker ledger.Account, asked ranking.Range) bool {
	last, is := n.askers[asker]
	if !is || asked > last.number {
		last = inheritance{number: asked, holds: n.r.w.Now() + 2500*time.Millisecond}
		n.askers[asker] = last
	}
	return asked == last.number && n.r.w.Now() <= last.holds
}

// judgeInherited is I6: a node that begins to coordinate asks for grants once all have answered and what they named is
// in a block, or when its hold is over.
func (r *run) judgeInherited(n *node) {
	at := r.inherits[n]
	if at == nil || at.life != n.woken || r.w.Now() >= at.holds {
		return
	}
	r.Check(len(at.asked) == 0, InheritedFirst, "%s goes on before %d members have answered", n.name, len(at.asked))
	head := n.height()
	for _, a := range at.entries {
		_, _, decided := r.chain.head.Landed(a.Attempt.Intent)
		decided = decided || r.chain.head.Number() >= a.Grant.ValidUntil || head >= a.until || n.sent[a.Attempt.Intent]
		decided = decided || slices.ContainsFunc(slices.Concat(a.Attempt.Inputs, a.Attempt.Reads), r.chain.spent)
		r.Check(decided || n.landed[a.Attempt.Intent] > 0, InheritedFirst, "%s goes on while %v may still land", n.name, a.Attempt.Sequence)
	}
}

// judgeHanded notes what a member has answered to a question for a handover.
func (r *run) judgeHanded(n *node, from ledger.Account, msg wire.Message) {
	at := r.inherits[n]
	if at == nil || at.requests[msg.Request] != from || !at.asked[from] {
		return
	}
	delete(at.asked, from)
	if h, is := msg.Body.(wire.Handover); is {
		for _, e := range h.Entries {
			if !r.proven(from, e) {
				continue
			}
			until, waits := n.lasting[e.Grant.Assembled]
			if !waits || n.height() >= until+r.contract.Depth { // else it is known
				until = n.height() + min(r.contract.Life, r.contract.Range)/2
				n.lasting[e.Grant.Assembled] = until
			}
			at.entries = append(at.entries, inherited{e, until})
		}
	}
}

// inheritance is what a node has to wait for that begins to coordinate, for I6.
type inheritance struct {
	life     int // so often it had begun to follow
	number   ranking.Range
	holds    time.Duration
	asked    map[ledger.Account]bool // that have not answered
	requests map[wire.RequestID]ledger.Account
	entries  []inherited
}

// inherited is an entry that was handed over, and the block until which it is waited for.
type inherited struct {
	wire.Dispatch

	until uint64
}
