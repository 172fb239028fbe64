package metric

import (
	"errors"

	"github.com/conchhq/conch/election"
)

// Reasons why a leadership ended, the values of the label of that name. An alert
// on trouble leaves SteppedDown out.
const (
	SteppedDown = "stepped_down" // drained, transferred, or the process was told to end
	Resigned    = "resigned"     // the role's function returned
	Stalled     = "stalled"      // the role made no progress
	Overdue     = "overdue"      // no heartbeat was in time for two leases
	Deposed     = "deposed"      // the mint has a newer term
	SessionLost = "session_lost" // the session with the database broke or fell silent
)

// Reasons is all of them.
var Reasons = []string{SteppedDown, Resigned, Stalled, Overdue, Deposed, SessionLost}

// Failed is why a role failed, unless it Stalled.
const Failed = "failed"

// Failures is all reasons of a role's failure.
var Failures = []string{Failed, Stalled}

func failure(why error) string {
	if errors.Is(why, election.ErrStalled) {
		return Stalled
	}
	return Failed
}

// reason maps the end of a leadership to one of a few words: an error's own text
// in a label would be a new series for each.
func reason(f election.Fact) string {
	switch {
	case errors.Is(f.Err, election.ErrDeposed):
		return Deposed
	case f.Kind == election.Lost:
		return SessionLost
	case errors.Is(f.Err, election.ErrResigned): // before the others: it wraps whatever the role returned
		return Resigned
	case errors.Is(f.Err, election.ErrStalled):
		return Stalled
	case errors.Is(f.Err, election.ErrOverdue):
		return Overdue
	default:
		return SteppedDown
	}
}
