package coordinator

import (
	"fmt"
	"strings"
)

// state is where a piece of work is. The table below says what each event does in each state.
type state uint8

const (
	pooled     state = iota // waits to be assembled
	assembling              // its sender was asked for an attempt
	endorsing               // the members were asked
	ready                   // only the grant is missing
	granting                // its sender was asked for the grant
	storing                 // the row of its dispatch is being stored
	dispatched              // handed to the submitter
	included                // in a block that is not final
	over                    // forgotten
	states
)

var stateNames = [states]string{"pooled", "assembling", "endorsing", "ready", "granting", "storing", "dispatched", "included", "over"}

func (s state) String() string { return stateNames[s] }

// event is what happens to a piece of work.
type event uint8

const (
	delegatedAgain event = iota // its sender delegates it under another delegation
	disowned                    // so does a sender that knew of the dispatch: it has seen the end of that attempt
	asked                       // its sender is asked for an attempt
	attempted                   // an attempt has come whose states are free
	unattempted                 // none has come: a conflict, a failure, a silence
	withdrawn                   // its sender says that it is over, or delegated to another
	complete                    // enough members have endorsed it
	refused                     // too few can
	grantAsked                  // its sender is asked for the grant
	grantGiven                  // the grant has come
	ungranted                   // none has come
	rowStored                   // the row of its dispatch is durable
	taken                       // the ledger has taken this attempt
	superseded                  // the ledger has taken another attempt of the intent, or it was cancelled
	skipped                     // the ledger has not taken this attempt
	overtaken                   // a state that it needs was spent by another attempt, or is not there any more
	orphaned                    // what it is built on was given up, or cannot land
	lapsed                      // the last block of its grant is there
	rewound                     // its block is gone
	abandoned                   // its submitter has given it up again and again: nothing carries it, and nothing will
	closed                      // it goes back to its sender: another node coordinates
	final                       // its block is final, or the last block of its grant
	events
)

var eventNames = [events]string{
	"delegated again", "disowned", "asked", "attempted", "unattempted", "withdrawn", "complete", "refused", "grant asked",
	"grant given", "ungranted", "row stored", "taken", "superseded", "skipped", "overtaken", "orphaned", "lapsed", "rewound",
	"abandoned", "closed", "final",
}

func (e event) String() string { return eventNames[e] }

// effect is what else the machine does when work moves on.
type effect uint8

const (
	nothing  effect = iota
	unwinds         // gives the attempt up, and what is built on it; the intent is assembled again
	drops           // forgets the work, and unwinds what is built on it
	returns         // does so too, and gives the intent back to its sender
	dooms           // offers nothing of it any more; what is built on it goes too
	queues          // makes it wait for its turn to be granted
	includes        // notes its block
	excludes        // takes that back
)

// cell is what an event does in a state.
type cell struct {
	next  state
	do    effect
	why   string // not empty: it changes nothing, for this reason
	never bool   // the machine itself never lets it happen
}

type rule struct {
	in []state
	cell
}

// to moves work on.
func to(next state, do effect, in ...state) rule {
	return rule{in, cell{next: next, do: do}}
}

// ignore changes nothing.
func ignore(why string, in ...state) rule { return rule{in, cell{why: why}} }

// never is what only a fault of this package could bring about.
func never(why string, in ...state) rule { return rule{in, cell{why: why, never: true}} }

// table says what each event does in each state but over, in which there is no work.
var table = func() (t [events][states]*cell) {
	for e, rules := range map[event][]rule{
		delegatedAgain: {
			to(pooled, nothing, pooled),
			to(pooled, unwinds, assembling, endorsing, ready, granting),
			ignore("what is being dispatched is not assembled again (P31)", storing, dispatched, included),
		},
		disowned: {
			to(over, drops, dispatched), // and it is taken anew
			ignore("it was not dispatched", pooled, assembling, endorsing, ready, granting),
			ignore("the sender cannot know yet", storing),
			ignore("this node has seen more than the sender", included),
		},
		asked: {
			to(assembling, nothing, pooled),
			never("only what is pooled is asked for", assembling, endorsing, ready, granting, storing, dispatched, included),
		},
		attempted: {
			to(endorsing, nothing, assembling),
			never("an answer for anything else is dropped with its request", pooled, endorsing, ready, granting, storing, dispatched, included),
		},
		unattempted: {
			to(pooled, nothing, assembling),
			never("an answer for anything else is dropped with its request", pooled, endorsing, ready, granting, storing, dispatched, included),
		},
		withdrawn: {
			to(over, drops, assembling, granting),
			never("only what its sender was asked about is withdrawn", pooled, endorsing, ready, storing, dispatched, included),
		},
		complete: {
			to(ready, queues, endorsing),
			never("verdicts on anything else are dropped", pooled, assembling, ready, granting, storing, dispatched, included),
		},
		refused: {
			to(over, drops, endorsing),
			never("verdicts on anything else are dropped", pooled, assembling, ready, granting, storing, dispatched, included),
		},
		grantAsked: {
			to(granting, nothing, ready),
			never("only what is ready is asked for", pooled, assembling, endorsing, granting, storing, dispatched, included),
		},
		grantGiven: {
			to(storing, nothing, granting),
			never("a grant that nothing waits for is returned (P15)", pooled, assembling, endorsing, ready, storing, dispatched, included),
		},
		ungranted: {
			to(pooled, unwinds, endorsing, ready, granting), // those before granting with others of the same sender
			never("an answer for anything else is dropped with its request", pooled, assembling, storing, dispatched, included),
		},
		rowStored: {
			to(dispatched, nothing, storing),
			ignore("a block has shown it before the database did", included),
			never("only what is being stored gets stored", pooled, assembling, endorsing, ready, granting, dispatched),
		},
		taken: {
			to(included, includes, endorsing, ready, granting, storing, dispatched), // before storing: by another coordinator
			ignore("a block has shown it already", included),
			never("it has no attempt", pooled, assembling),
		},
		superseded: {
			to(over, drops, pooled, assembling, endorsing, ready, granting, storing, dispatched),
			never("the ledger takes an intent once", included),
		},
		skipped: {
			to(over, drops, storing, dispatched),
			ignore("a copy of an entry that was taken", included),
			ignore("another coordinator has submitted it", endorsing, ready, granting),
			never("it has no attempt", pooled, assembling),
		},
		overtaken: {
			to(pooled, unwinds, endorsing, ready, granting),
			to(over, returns, storing),
			to(dispatched, dooms, dispatched), // the ledger will skip it
			never("what is not on board has no states", pooled, assembling),
			never("what the ledger took has spent its states itself", included),
		},
		orphaned: {
			to(pooled, unwinds, endorsing, ready, granting),
			to(over, returns, storing),
			to(dispatched, dooms, dispatched), // the ledger will skip it
			never("what is not on board is built on nothing", pooled, assembling),
			never("what the ledger took has spent its states itself", included),
		},
		lapsed: {
			to(over, returns, storing),
			to(dispatched, dooms, dispatched), // the ledger will skip it
			never("it has no grant", pooled, assembling, endorsing, ready, granting),
			never("it is in a block", included),
		},
		rewound: {
			to(dispatched, excludes, included),
			never("it was in no block", pooled, assembling, endorsing, ready, granting, storing, dispatched),
		},
		abandoned: {
			to(over, returns, dispatched),
			never("only what is dispatched is reviewed", pooled, assembling, endorsing, ready, granting, storing, included),
		},
		closed: {
			to(over, drops, pooled, assembling, endorsing, ready, granting),
			ignore("what was dispatched is never returned (P15)", storing, dispatched, included),
		},
		final: {
			to(over, drops, dispatched, included),
			never("the grant of what is being stored lasts, and it is in no block", storing),
			never("it has no grant, and is in no block", pooled, assembling, endorsing, ready, granting),
		},
	} {
		for _, r := range rules {
			for _, s := range r.in {
				t[e][s] = &r.cell
			}
		}
	}
	return t
}()

// tell does what the table says, and reports whether that moves the work on.
func (m *Machine) tell(w *work, e event) bool {
	c := table[e][w.state]
	if c == nil || c.never {
		m.faults = append(m.faults, fmt.Sprintf("%v in %v", e, w.state))
		return false
	}
	if c.why != "" {
		return false
	}
	w.was, w.state = w.state, c.next
	m.flying += waits(w.state) - waits(w.was)
	if w.state == dispatched && !w.inherited {
		m.reviewSoon()
	}
	switch c.do {
	case nothing:
	case unwinds:
		m.unwind(w)
	case drops:
		m.count(w, e)
		m.drop(w)
	case returns:
		m.giveBack(w)
	case dooms:
		m.doom(w)
	case queues:
		m.queue(w)
	case includes:
		m.include(w)
	case excludes:
		m.exclude(w)
	}
	return true
}

// waits is 1 for a work that waits for a block.
func waits(s state) int {
	if s == dispatched {
		return 1
	}
	return 0
}

// Diagram returns the table as a diagram for Mermaid.
func Diagram() string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n    [*] --> pooled\n")
	for from := range over {
		labels := map[state][]string{}
		for e := range events {
			if c := table[e][from]; c != nil && c.why == "" && c.next != from {
				labels[c.next] = append(labels[c.next], e.String())
			}
		}
		for next := range states {
			if len(labels[next]) > 0 {
				fmt.Fprintf(&b, "    %v --> %v: %s\n", from, next, strings.Join(labels[next], ", "))
			}
		}
	}
	b.WriteString("    over --> [*]\n")
	return b.String()
}
