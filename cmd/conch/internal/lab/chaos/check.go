package chaos

import (
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgrogue"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/fence"
)

// Invariants. Their names are public.
const (
	OneActor    = "one-actor"      // no two leaderships act at once, nor an old one after a new one
	OneChild    = "one-child"      // the same for the commands under conch run
	NothingLost = "nothing-lost"   // what was acknowledged is there
	NothingMore = "nothing-twice"  // no row is duplicated or made up
	InTime      = "dead-in-time"   // a command under conch run is dead before its leadership can be another's
	Shut        = "shut-in-time"   // an act door that is not renewed is shut before its lease is over
	Minted      = "minted"         // the history has every leadership that acted
	Named       = "eviction-named" // a fence that blocked the mint is named in the history
	Alive       = "alive"          // no process ends unexpectedly
	Recovers    = "recovers"       // after the last fault has healed, everything goes on
	OneAsker    = "one-asker"      // callers of two leaders' HTTP gates never act at once
	LongAnswer  = "long-answer"    // an answer lives as long as requested, up to answer_max
	ValidPasses = "valid-passes"   // a current token's fence fails with 40001 only
	StaleStops  = "stale-stops"    // a transaction whose token is over does not commit
	ToldOnce    = "told-once"      // a page is told each event, and by one stream not twice
	ToldNow     = "told-now"       // no page is told as the present what is past
	Answers     = "pages-answer"   // a page and its routes are there, or say that the database is away
	Led         = "led-in-time"    // no scope is without a leader for longer than its fault explains
)

// Injection is a fault as it happened.
type Injection struct {
	Number int
	Fault  Fault
	Nodes  []string
	At     fence.Instant // read before it began
	Done   fence.Instant // read when it was injected
	Healed fence.Instant // read before it was healed
	Over   fence.Instant // read when it was healed
	Epoch  int64         // epoch of the leader of Scope before it
	Passed bool          // of a stuck fence: somebody was elected past it
	Missed bool          // there was nobody to hit
	Steps  []Step        // of a fault with several steps
}

func (in Injection) of(node string) bool { return slices.Contains(in.Nodes, node) }

// Evidence is the input of Check.
type Evidence struct {
	Record     evidence.Record // the ledger, and the acts behind the act door
	Children   []evidence.Act
	History    []pgops.Event
	Injections []Injection
	Gated      []Gated            // acts of the HTTP gates' callers, by scope
	Streamed   []pgrogue.Streamed // rows of fences above READ COMMITTED
	Refused    []pgrogue.Refusal  // failed transactions of such fences
	Viewings   []Viewing          // of pages
	Ended      fence.Instant      // until then there must be a leader; 0: the run was cut short
	Lease      time.Duration
	Machines   int
	Takeover   mint.Takeover
}

// Check judges the evidence without changing it. Beside the violations it counts frozen writes,
// which only a fence could have refused: those that a stop or a busy machine delayed between
// the gate's yes and the write.
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
	e.viewed(say)
	return violations, len(found.Slow)
}

type sayer func(invariant string, at fence.Instant, format string, args ...any)

// before returns the number of the last fault that began by an instant.
func (e Evidence) before(at fence.Instant) (number int) {
	for _, in := range e.Injections {
		if in.At <= at {
			number = in.Number
		}
	}
	return number
}

// unminted looks for leaderships that acted without being in the history, and for epochs in the
// history that do not grow.
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
			known[l] = true // report it once
			say(Minted, at, "%s acted in epoch %d of %s, which the history gives to another node or to none", l.holder, l.epoch, l.scope)
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

// unnamed looks for evictions that are not in the history.
func (e Evidence) unnamed(say sayer) {
	for _, in := range e.Injections {
		if in.Fault.Kind != BusyFence || !in.Passed {
			continue
		}
		if !slices.ContainsFunc(e.History, func(h pgops.Event) bool {
			return h.Scope == Scope && h.Event == "evicted" && h.Epoch == in.Epoch
		}) {
			say(Named, in.At, "the history has no eviction although a transaction of epoch %d went on after its fence", in.Epoch)
		}
	}
}
