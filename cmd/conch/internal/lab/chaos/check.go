package chaos

import (
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgrogue"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/fence"
)

// Invariants.
const (
	OneActor    = "one-actor"      // no two leaderships act at once, nor an old one after a new one
	OneChild    = "one-child"      // the same of the commands under conch run
	NothingLost = "nothing-lost"   // what was acknowledged is there
	NothingMore = "nothing-twice"  // nothing is there that nobody may have written
	InTime      = "dead-in-time"   // a command under conch run is dead before its leadership can be another's
	Shut        = "shut-in-time"   // an act door that is not renewed is shut before its lease is over
	Minted      = "minted"         // whoever acts was elected, by the history
	Named       = "eviction-named" // a fence that blocked the mint is named in the history
	Alive       = "alive"          // nobody ends unasked
	Recovers    = "recovers"       // after the last fault has healed, everything goes on
	OneAsker    = "one-asker"      // no two callers of the HTTP gates of two leaders act at once
	LongAnswer  = "long-answer"    // an answer lives as long as was asked for, up to answer_max
	ValidPasses = "valid-passes"   // a current token's fence fails with 40001 only
	StaleStops  = "stale-stops"    // a transaction whose token is over does not commit
	Led         = "led-in-time"    // no scope is without a leader for longer than its fault explains
)

// Wound is a fault as it happened.
type Wound struct {
	Number int
	Fault  Fault
	Nodes  []string
	At     fence.Instant // read before anything was done
	Done   fence.Instant // read when it was done
	Healed fence.Instant // read before anything was undone
	Over   fence.Instant // read when it was undone
	Epoch  int64         // of the ledger's leader before it
	Passed bool          // a fence that was stuck: somebody was elected past it
	Missed bool          // there was nobody to be hit
	Blows  []Blow        // of a fault that does several things
}

func (w Wound) of(node string) bool { return slices.Contains(w.Nodes, node) }

// Evidence is everything that Check looks at.
type Evidence struct {
	Record   evidence.Record // the ledger, and the acts behind the act door
	Children []evidence.Act
	History  []pgops.Event
	Wounds   []Wound
	Gated    []Gated            // what strangers did, by the scopes that they asked about
	Streamed []pgrogue.Streamed // rows of fences above READ COMMITTED
	Refused  []pgrogue.Refusal  // of their transactions
	Ended    fence.Instant      // until when there was to be a leader; 0: the run was cut short
	Lease    time.Duration
	Machines int
	Takeover election.Takeover
}

// Check weighs the evidence. It is pure, and counts beside violations the writes
// that only a fence could have refused: those that were held up between the gate's yes
// and the write, by a stop or a busy machine.
func Check(e Evidence) (violations []Violation, frozen int) {
	say := func(invariant string, at fence.Instant, format string, args ...any) {
		violations = append(violations, Violation{
			Invariant: invariant, Detail: fmt.Sprintf(format, args...), Fault: e.before(at),
		})
	}
	e.Record.Margin = margin(e.Lease)
	found := evidence.Find(e.Record)
	for _, f := range found.Overlapping {
		say(OneActor, f.At, "%s", f.What)
	}
	for _, f := range found.Lost {
		say(NothingLost, f.At, "%s", f.What)
	}
	for _, f := range found.Duplicated {
		say(NothingMore, f.At, "%s", f.What)
	}
	for _, f := range evidence.Find(evidence.Record{Outside: e.Children}).Overlapping {
		say(OneChild, f.At, "%s", f.What)
	}
	e.asked(say)
	e.streamed(say)
	e.outlived(say)
	e.unminted(say)
	e.unnamed(say)
	e.unled(say)
	return violations, len(found.Slow)
}

type sayer func(invariant string, at fence.Instant, format string, args ...any)

// before is the number of the last fault that had begun at an instant.
func (e Evidence) before(at fence.Instant) (number int) {
	for _, w := range e.Wounds {
		if w.At <= at {
			number = w.Number
		}
	}
	return number
}

// unminted looks for leaderships that acted and that the history does not know,
// and for a history that does not go up.
func (e Evidence) unminted(say sayer) {
	type leadership struct {
		scope  string
		epoch  int64
		holder string
	}
	known := map[leadership]bool{}
	newest := map[string]int64{}
	for _, h := range e.History {
		if h.Event != "acquired" {
			continue
		}
		if h.Epoch <= newest[h.Scope] {
			say(Minted, 0, "the history of %s says epoch %d after %d", h.Scope, h.Epoch, newest[h.Scope])
		}
		newest[h.Scope] = h.Epoch
		known[leadership{h.Scope, h.Epoch, h.Holder}] = true
	}
	look := func(l leadership, at fence.Instant) {
		if !known[l] {
			known[l] = true // once is enough
			say(Minted, at, "%s acted in epoch %d of %s, for which the history has somebody else or nobody", l.holder, l.epoch, l.scope)
		}
	}
	for _, row := range e.Record.Ledger {
		if row.Seq > 0 {
			look(leadership{Scope, row.Epoch, row.Node}, 0)
		}
	}
	for _, a := range e.Record.Outside {
		look(leadership{Scope, a.Epoch, a.Node}, a.Start)
	}
	for _, a := range e.Children {
		look(leadership{RunScope, a.Epoch, a.Node}, a.Start)
	}
	for _, g := range e.Gated {
		for _, a := range g.Acts {
			look(leadership{g.Scope, a.Epoch, a.Node}, a.Start)
		}
	}
}

// unnamed looks for evictions without a trace.
func (e Evidence) unnamed(say sayer) {
	for _, w := range e.Wounds {
		if w.Fault.Kind != BusyFence || !w.Passed {
			continue
		}
		if !slices.ContainsFunc(e.History, func(h pgops.Event) bool {
			return h.Scope == Scope && h.Event == "evicted" && h.Epoch == w.Epoch
		}) {
			say(Named, w.At, "nobody was evicted in the history though a fence of epoch %d went on", w.Epoch)
		}
	}
}
