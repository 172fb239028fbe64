package core

import (
	"github.com/conchhq/conch/sequencer/internal/endorser"
	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Input is what has happened: one of the types below.
type Input interface{ input() }

type (
	// Tick comes about every 50 ms.
	Tick struct{}
	// Opened has a contract that was read ([Core.Open]). It wakes, unless it is to sleep on: then what it is now is noted.
	Opened struct {
		Asleep bool

		contract *contract
	}
	// Rouse has a contract read, since perhaps something is under way in it.
	Rouse struct{ Contract string }
	// Reach asks for Reached with the same ticket once a contract is awake, or for Busy. Size is how many bytes wait with it.
	Reach struct {
		Ticket   uint64
		Contract string
		Size     int
	}
	// Submit hands an intent in, after Reached. Accepted answers it.
	Submit struct {
		Ticket   uint64
		Contract string
		sender.IntentRow
	}
	// Cancel gives an intent up, after Reached. Accepted says that this is stored.
	Cancel struct {
		Ticket   uint64
		Contract string
		Sequence ledger.Sequence
	}
	// Drain has the node coordinate a contract no more, or again, after Reached.
	Drain struct {
		Contract string
		On       bool
	}
	// Arrived is a message of a peer, as it was decoded, and its size in bytes.
	Arrived struct {
		From    ledger.Account
		Message wire.Message
		Size    int
	}
	// Malformed is one that cannot be read, but for what is there.
	Malformed struct {
		From    ledger.Account
		Message wire.Message
	}
	// Received is a message that may be given to a machine: one of the node itself, or one that was verified. It is forged if a
	// signature in it is wrong.
	Received struct {
		From    ledger.Account
		Message wire.Message
		Size    int
		Forged  bool
	}
	// Proven answers Prove: its message, and what of it is proven.
	Proven struct{ Received }
	// Beaten is a heartbeat of a member.
	Beaten struct {
		From ledger.Account
		Beat wire.Beat
	}
	// Followed is a step of a contract's chain, a ledger.Block or a ledger.Rewind, of the Follow with the same number.
	Followed struct {
		Contract string
		Life     uint64
		Step     any
	}
	// GivenUp is a hint that something that was handed in has ended without effect.
	GivenUp struct{ Contract string }
	// Refused says that what was handed in was not taken, and is handed in again.
	Refused struct{ Contract, Why string }
	// Written says that writes are durable, but for intents whose keys had other rows.
	Written struct {
		IDs   []uint64
		Twice []Twice
	}
	// Answered is the answer to a question. What the question is not about is zero.
	Answered struct {
		ID        uint64
		Final     ledger.View        // to ReadFinal
		Attempts  []wire.Whole       // to ReadAttempts: those that are stored
		Found     *sender.IntentRow  // to Find: nil if there is none
		Outcomes  []endorser.Outcome // to Check
		Signature []byte             // to SignCancellation
		Lost      []ledger.Entry     // to Review: those that no transaction carries
		Waits     string             // to Review: why the others are in no block
		Err       error
	}
)

// Idle reports whether nothing is under way in the contract.
func (in Opened) Idle() bool { return in.contract.allStored() }

func (Tick) input()      {}
func (Opened) input()    {}
func (Rouse) input()     {}
func (Reach) input()     {}
func (Submit) input()    {}
func (Cancel) input()    {}
func (Drain) input()     {}
func (Arrived) input()   {}
func (Malformed) input() {}
func (Received) input()  {}
func (Beaten) input()    {}
func (Followed) input()  {}
func (Refused) input()   {}
func (GivenUp) input()   {}
func (Written) input()   {}
func (Answered) input()  {}
