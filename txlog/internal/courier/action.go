package courier

import "github.com/conchhq/conch/txlog"

// Action is one of the types below.
type Action interface{ action() }

type (
	// Send gives a goal to a member, which may be this node itself. LeaderSaid tells what came of it, or nothing
	// does. A member that gets it a second time executes it once all the same.
	Send struct {
		Try uint64 // names it: the answer has the same one
		To  string
		txlog.Goal
	}
	// Ask has three neighbours asked for heads and for what follows the own copy (B9): what this node waits for may be there.
	Ask struct{ Goals int } // that wait for it
	// Deliver ends a ticket.
	Deliver struct {
		Ticket uint64
		txlog.Answer

		Err error // the rest is zero then
	}
	// Changed says that another member leads while a goal waits (B10). It is for the log of the node.
	Changed struct {
		GoalID, From, To string // From and To may be empty: nobody
	}
	// TimedOut says that a goal had no answer for Config.Timeout (B8). It is tried again: no index advances by it (B9).
	TimedOut struct {
		GoalID string
		To     string // the member that was asked last
	}
)

func (Send) action()     {}
func (Ask) action()      {}
func (Deliver) action()  {}
func (Changed) action()  {}
func (TimedOut) action() {}
