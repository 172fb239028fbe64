package sender

import (
	"github.com/conchhq/conch/sequencer/internal/grants"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Action is one of the types below.
type Action interface{ action() }

type (
	// Send sends a message. It may be lost.
	Send struct {
		To      ledger.Account // may be this node
		Message wire.Message
	}
	// Store asks for one transaction that writes all of it. The input Stored follows.
	Store struct {
		ID      uint64 // rising; it begins anywhere, at each start
		Intents []IntentRow
		Grants  []GrantRow
		Marks   []Mark
		Results []ledger.Result
	}
	// Submitted tells the user that the intent is stored (P28).
	Submitted struct {
		Key      string
		Sequence ledger.Sequence
	}
	// Finished tells the user how the intent ended. Its row is stored.
	Finished struct {
		Key    string
		Result ledger.Result
	}
	// Judge asks the ledger. The input Judged follows.
	Judge struct{ Questions []Question }
	// Question asks whether an intent has landed, and what became of its grants.
	Question struct {
		ledger.Intent

		Given []grants.Given
	}
	// SendCancellation asks for a ledger.Cancellation of an intent that was given up and may still land.
	SendCancellation struct{ Intent ledger.Intent }
	// Share asks for the contents of an attempt that has landed to be given to another member. The input Shared follows.
	Share struct {
		Sequence  ledger.Sequence
		Assembled ledger.Hash
		Block     uint64 // that has it, or a final one that comes after it
	}
	// Blame says, for the log, that a coordinator is left out, and why.
	Blame struct {
		Member ledger.Account
		For    Fault
	}
	// Nudge asks for an empty transaction, since the chain stands still and is waited for.
	Nudge struct{}
)

func (Send) action()             {}
func (Store) action()            {}
func (Submitted) action()        {}
func (Finished) action()         {}
func (Judge) action()            {}
func (SendCancellation) action() {}
func (Share) action()            {}
func (Blame) action()            {}
func (Nudge) action()            {}

// Fault is what a coordinator is left out for.
type Fault uint8

const (
	NotEndorsed  Fault = iota // the ledger has skipped what it had sent, since its endorsements are wrong
	LandsNothing              // for as long as one is waited for, nothing has landed of what it was given
)

type (
	// IntentRow is an intent, as it is stored before its user hears of it. One that is handed in has no Sequence yet.
	IntentRow struct {
		Sequence ledger.Sequence
		Key      string // the user's; two of one key are one intent
		Payload  []byte // as domain.Rules.Prepare gives it
		Deadline uint64 // a block: if the intent has not landed when that is final, it is given up; 0: never
	}
	// GrantRow is an attempt of an intent, and its grant, as both are stored before the grant leaves.
	GrantRow struct {
		grants.Given

		To      ledger.Account // the node that has asked for it
		Grant   ledger.Grant   // without a signature
		Request wire.RequestID // that it answers
		Whole   wire.Whole     // the attempt, for members that will lack its states
	}
	// Mark is a change of an intent's row. Fields that are zero change nothing.
	Mark struct {
		Sequence   ledger.Sequence
		Failures   int
		Dispatched ledger.Hash
		Over       ledger.Hash // an attempt that the ledger has skipped, or whose last block is past: no longer waited for
		GivenUp    string
	}
)
