package core

import (
	"log/slog"
	"time"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Output is what a core asks for. The order is binding: first the writes are queued, then the acts are done (package core, Order).
type Output struct {
	Writes []Write
	Acts   []Act
}

// Write is a change that is to be made durable after all before it. [Written] says so.
type Write struct {
	ID     uint64
	Change Change

	then func(twice []ledger.Sequence)
}

// Act is what is to be done: one of the types below.
type Act interface{ act() }

type (
	// Send sends a message, which may be lost. What [Signs] is signed before; if that fails it is not sent. One to the node itself
	// is the input Received.
	Send struct {
		To      ledger.Account
		Message wire.Message
	}
	// Beat sends a heartbeat. One to the node itself is the input Beaten.
	Beat struct {
		To   ledger.Account
		Beat wire.Beat
	}
	// Verify has the named signatures of a message looked at. Received follows.
	Verify struct {
		Received

		Needed []int
	}
	// Prove has each entry of a handover looked at that may count. One that is not proven spoils all. Proven follows.
	Prove struct {
		Received

		Claims []wire.Dispatch
	}
	// Open reads a contract, until it can. Opened follows. Number is that of the last request of its coordinator before.
	Open struct {
		Contract string
		Number   uint64
	}
	// Follow begins to follow a contract's chain after a block, and Unfollow ends that.
	Follow struct {
		Contract string
		Life     uint64
		After    uint64
	}
	// Unfollow ends Follow.
	Unfollow struct{ Contract string }
	// Reached says that a contract is awake, until the next tick at least.
	Reached struct{ Ticket uint64 }
	// Busy says that too much waits for a contract, and that nothing was done.
	Busy struct{ Ticket uint64 }
	// Accepted answers Submit and Cancel.
	Accepted struct {
		Ticket   uint64
		Sequence ledger.Sequence
		Err      error
	}
	// Again has a request handed in once more, from Reach on: the row that had its key was forgotten meanwhile.
	Again struct{ Submit }
	// Finished says that an intent has ended.
	Finished struct {
		Contract, Key string
		Result        ledger.Result
	}
	// Passed is a step of one of the node's own intents.
	Passed struct {
		Contract string
		Passage  sender.Passage
	}
	// Say is something for the log.
	Say struct {
		Level slog.Level
		Text  string
		Args  []any
	}

	// ReadFinal asks the ledger about intents and states in one final block. It is asked until it answers if it has to be.
	ReadFinal struct {
		ID       uint64
		Contract string
		Intents  []ledger.Intent
		States   []ledger.StateID
		Insist   bool
	}
	// ReadAttempts asks the store for the contents of attempts.
	ReadAttempts struct {
		ID       uint64
		Contract string
		Named    []ledger.Hash
	}
	// Find asks the store for the intent with a key.
	Find struct {
		ID            uint64
		Contract, Key string
	}
	// Check asks the rules about proposals.
	Check struct {
		ID        uint64
		Contract  string
		Proposals []domain.Proposal
	}
	// SignCancellation asks for the signature of a cancellation.
	SignCancellation struct {
		ID       uint64
		Contract string
		Intent   ledger.Intent
	}
	// Nudge asks for an empty transaction. Its error may be ledger.ErrUnderWay.
	Nudge struct {
		ID       uint64
		Contract string
	}
	// HandIn hands a transaction to the submitter, until it is taken. Refused says each time that it was not.
	HandIn struct {
		ID       uint64
		Contract string
		Sent     ledger.Sent
	}
	// Review asks what has become of entries that were handed in.
	Review struct {
		ID       uint64
		Contract string
		Awaited  []ledger.Entry
	}
	// Wait is answered after a while.
	Wait struct {
		ID  uint64
		For time.Duration
	}
)

func (Send) act()             {}
func (Beat) act()             {}
func (Verify) act()           {}
func (Prove) act()            {}
func (Open) act()             {}
func (Follow) act()           {}
func (Unfollow) act()         {}
func (Reached) act()          {}
func (Busy) act()             {}
func (Accepted) act()         {}
func (Again) act()            {}
func (Finished) act()         {}
func (Passed) act()           {}
func (Say) act()              {}
func (ReadFinal) act()        {}
func (ReadAttempts) act()     {}
func (Find) act()             {}
func (Check) act()            {}
func (SignCancellation) act() {}
func (Nudge) act()            {}
func (HandIn) act()           {}
func (Review) act()           {}
func (Wait) act()             {}

// Signs reports whether the node signs something in a message before it is sent.
func Signs(b wire.Body) bool {
	switch b.(type) {
	case wire.Endorsed, wire.Granted:
		return true
	}
	return false
}
