package sender

import (
	"github.com/conchhq/conch/sequencer/internal/grants"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Input is what the machine is told: [ledger.Block], [ledger.Rewind], an [IntentRow] that a user hands in, or one of the types below. Others are ignored.
type Input any

type (
	// Cancel is a user's wish to give an intent up. It may land nevertheless.
	Cancel struct{ Sequence ledger.Sequence }
	// Stored says that a Store is committed.
	Stored struct{ ID uint64 }
	// Twice says of an intent in a Store that is not Stored yet: its key has another row, so it has none.
	Twice struct{ Sequence ledger.Sequence }
	// Received is a message about the contract, addressed to this node.
	Received struct {
		From    ledger.Account
		Message wire.Message
	}
	// Pulse is this contract's part of a wire.Beat.
	Pulse struct {
		From        ledger.Account
		Incarnation wire.Incarnation
		Pulse       wire.Pulse
	}
	// Judged answers Judge.
	Judged struct {
		Number  uint64 // of the final block in which all was read
		Answers []Answer
	}
	// Answer is what the ledger says to a Question.
	Answer struct {
		Sequence  ledger.Sequence
		Landed    bool // an attempt of the intent, or its cancellation
		Assembled ledger.Hash
		Payload   ledger.Hash  // of what landed; zero if it was cancelled
		Ends      []grants.End // of the grants, in the question's order
	}
	// Shared answers Share: another member has stored the contents, or none was found for long enough.
	Shared struct {
		Sequence  ledger.Sequence
		Assembled ledger.Hash
	}
	// Tick says that time has passed.
	Tick struct{}
)

// Read answers the question in one final block.
func (q Question) Read(f ledger.View) Answer {
	a := Answer{Sequence: q.Sequence}
	a.Assembled, a.Payload, a.Landed = f.Landed(q.Intent)
	for _, g := range q.Given {
		a.Ends = append(a.Ends, grants.Kills(f, g))
	}
	return a
}
