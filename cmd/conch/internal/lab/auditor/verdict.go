package auditor

import (
	"errors"
	"fmt"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
)

// Verdict is what a record proves. Its JSON form is public.
type Verdict struct {
	Accepted   int             `json:"accepted"` // by an answer to a customer, or by a node's list
	Confirmed  int             `json:"confirmed"`
	Reverted   int             `json:"reverted"`
	Kills      int             `json:"kills"`
	Pauses     int             `json:"pauses"`
	Partitions int             `json:"partitions"`
	Landed     int             `json:"landed"`      // intents on the ledger
	Twice      int             `json:"twice"`       // intents that landed more than once, and states that were spent more than once
	Lost       int             `json:"lost"`        // accepted, and unknown to their node or never ended
	Untrue     int             `json:"untrue"`      // ends that were told and are not so
	Dispatch   evidence.Spread `json:"dispatch_ms"` // from a kill of a coordinator to the next dispatch
	Conserved  bool            `json:"conserved"`   // the money in the notes is what was issued and paid
	Violations []string        `json:"violations"`  // all of them in words, the counted ones included
}

// Fault returns an error that says what is wrong, or nothing was shown of, or nil.
func (v Verdict) Fault() error {
	switch {
	case len(v.Violations) > 0:
		return fmt.Errorf("of %d intents: %d twice, %d lost, %d told wrongly, %d violations in all, the first: %s",
			v.Accepted, v.Twice, v.Lost, v.Untrue, len(v.Violations), v.Violations[0])
	case v.Landed == 0:
		return errors.New("nothing has landed on the ledger, so nothing was shown")
	default:
		return nil
	}
}
