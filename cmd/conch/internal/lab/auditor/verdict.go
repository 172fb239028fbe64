package auditor

import (
	"errors"
	"fmt"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
)

// Verdict is what a record proves. Its JSON form is public.
type Verdict struct {
	Accepted   int             `json:"accepted"` // by an answer to a customer, by a node's list, or, if a restore took it from that, by the ledger
	Confirmed  int             `json:"confirmed"`
	Reverted   int             `json:"reverted"`
	Kills      int             `json:"kills"`
	Pauses     int             `json:"pauses"`
	Partitions int             `json:"partitions"`
	Landed     int             `json:"landed"`      // intents on the ledger
	Skipped    int             `json:"skipped"`     // entries of the nodes that the ledger has not taken
	Calm       Calm            `json:"calm"`        // of the time in which nothing was done to any node
	Twice      int             `json:"twice"`       // intents that landed more than once, and states that were spent more than once
	Lost       int             `json:"lost"`        // accepted, and unknown to their node or never ended
	Untrue     int             `json:"untrue"`      // ends that were told and are not so
	Denied     int             `json:"denied"`      // told reverted, though nobody had ended them
	Dispatch   evidence.Spread `json:"dispatch_ms"` // from a kill of a coordinator to the next dispatch
	Conserved  bool            `json:"conserved"`   // the money in the notes is what was issued and paid
	Violations []string        `json:"violations"`  // all of them in words, the counted ones included

	// What follows is there if it was done.
	Seed      *uint64        `json:"seed,omitempty"`     // of the plan
	Faults    map[string]int `json:"faults,omitempty"`   // by their names
	Restores  int            `json:"restores,omitempty"` // of databases
	Forgotten int            `json:"forgotten,omitempty"`
	Again     int            `json:"again,omitempty"`      // keys that landed once more, since a restore had forgotten them
	TakenBack int            `json:"taken_back,omitempty"` // told reverted, forgotten by a restore, and confirmed
	Attack    *Attacked      `json:"attack,omitempty"`
}

// fewSkipped is how many skipped entries prove nothing. What is built on what cannot land makes hundreds for each ten that land.
const fewSkipped = 50

// Calm is what the ledger has taken of the nodes, and what it has not, while nothing was done to them.
type Calm struct {
	Landed  int `json:"landed"`
	Skipped int `json:"skipped"`
}

// Attacked is what became of an attack.
type Attacked struct {
	Sent    map[string]int `json:"sent"`    // transactions, by their kinds
	Refused map[string]int `json:"refused"` // entries in blocks, by the rule of the contract that has refused them
	Ahead   int            `json:"ahead"`   // of those, copies that stood before what they copied, which landed later
}

// Fault returns an error that says what is wrong, or nothing was shown of, or nil.
func (v Verdict) Fault() error {
	switch {
	case len(v.Violations) > 0:
		return fmt.Errorf("of %d intents: %d twice, %d lost, %d told wrongly, %d denied, %d violations in all, the first: %s",
			v.Accepted, v.Twice, v.Lost, v.Untrue, v.Denied, len(v.Violations), v.Violations[0])
	case v.Landed == 0:
		return errors.New("nothing has landed on the ledger, so nothing was shown")
	case v.Calm.Skipped > max(v.Calm.Landed, fewSkipped):
		return fmt.Errorf("while nothing was done to any node, the ledger has skipped %d entries and taken %d: at most as many may be skipped, or %d", v.Calm.Skipped, v.Calm.Landed, fewSkipped)
	case v.Attack != nil && len(v.Attack.Refused) == 0:
		return errors.New("nothing of the attack has reached a block, so nothing was shown of it")
	default:
		return nil
	}
}
