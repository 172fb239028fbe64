package metric

import (
	"errors"

	"github.com/conchhq/conch/election"
)

// Reasons why a leadership ended, the values of the label reason. An alert leaves SteppedDown out.
const (
	SteppedDown = "stepped_down" // drained, transferred, or the process was told to end
	Resigned    = "resigned"     // the role's function returned
	Stalled     = "stalled"      // the role made no progress
	Overdue     = "overdue"      // no heartbeat came in time for two leases
	Deposed     = "deposed"      // the mint has a newer term
	SessionLost = "session_lost" // the session with the database broke or fell silent
)

// Reasons lists the reasons above, sorted as /metrics is.
var Reasons = [...]string{Deposed, Overdue, Resigned, SessionLost, Stalled, SteppedDown}

// Failed is the reason for a role's failure, unless it is Stalled.
const Failed = "failed"

// Failures lists the reasons for a role's failure, sorted.
var Failures = [...]string{Failed, Stalled}

func failure(why error) string {
	if errors.Is(why, election.ErrStalled) {
		return Stalled
	}
	return Failed
}

// reason maps the end of a leadership to one of a few words: error texts would make endless series.
func reason(f election.Fact) string {
	switch {
	case errors.Is(f.Err, election.ErrDeposed):
		return Deposed
	case f.Kind == election.Lost:
		return SessionLost
	case errors.Is(f.Err, election.ErrResigned): // before the others: it wraps the role's own error
		return Resigned
	case errors.Is(f.Err, election.ErrStalled):
		return Stalled
	case errors.Is(f.Err, election.ErrOverdue):
		return Overdue
	default:
		return SteppedDown
	}
}
