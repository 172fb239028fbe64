package coordinator

import (
	"github.com/conchhq/conch/sequencer/internal/grants"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Input is what the machine is told: a ledger.Block or ledger.Rewind, which the book knows already, or one of the types
// below. Others are ignored.
type Input any

type (
	// Received is a message of a member, whose signatures were verified. A Handover has what was proven of Claims.
	Received struct {
		From    ledger.Account
		Message wire.Message
		Forged  bool // one of them is wrong
	}
	// Heard is another coordinator's heartbeat for the contract.
	Heard struct {
		From  ledger.Account
		Pulse wire.Pulse
	}
	// Stored answers Store: the rows are durable.
	Stored struct{ Number uint64 }
	// Reviewed answers Review. Lost are the entries of it that no transaction carries: the submitter has none, or has given
	// it up. If it failed nothing is known, and it is asked for again.
	Reviewed struct {
		Lost   []ledger.Entry
		Failed bool
	}
	// GivenUp is a hint that the submitter has given something up just now: a review is due.
	GivenUp struct{}
	// Judged answers Judge, in its order, by one final block.
	Judged struct {
		Number uint64
		Ends   []grants.End
	}
	// Drain has the machine give back what it has not dispatched, and take no work until it comes with On false.
	Drain struct{ On bool }
	// Tick comes about every 50 ms while the machine is not idle.
	Tick struct{}
)

// Action is what the machine asks its loop to do, in order.
type Action interface{ action() }

type (
	// Send sends a message, which may get lost. A message to oneself is an input.
	Send struct {
		To      ledger.Account
		Message wire.Message
	}
	// Pulse is the contract's part of the next heartbeat to a member.
	Pulse struct {
		To    ledger.Account
		Pulse wire.Pulse
	}
	// Store makes rows durable, and is answered by Stored with its number once they are. Nothing that follows from the
	// rows is done before.
	Store struct {
		Number uint64
		Rows   []Row
	}
	// Submit hands entries that are stored to the submitter, in order. It has to take them, now or after a restart.
	Submit struct{ Entries []ledger.Entry }
	// Review asks what has become of entries that were submitted and are in no block. Whatever else the submitter has, and has
	// not signed, it need not send. Reviewed answers it. It is carried out after the submissions before, and before those
	// that follow.
	Review struct{ Awaited []ledger.Entry }
	// Note stores that senders know of the dispatch. Nothing waits for it.
	Note struct{ Intents []ledger.Intent }
	// Forget says that rows are over: the ledger has decided them in a final block.
	Forget struct{ Intents []ledger.Intent }
	// Blame says, for the log, that a member signs wrongly, and is set aside.
	Blame struct{ Member ledger.Account }
	// Nudge asks for an empty transaction: the chain stands still, and something here waits for a block.
	Nudge struct{}
	// Judge asks what ends grants, in one final block. Judged answers it.
	Judge struct{ Given []grants.Given }
)

func (Send) action()   {}
func (Pulse) action()  {}
func (Store) action()  {}
func (Submit) action() {}
func (Review) action() {}
func (Note) action()   {}
func (Forget) action() {}
func (Judge) action()  {}
func (Nudge) action()  {}
func (Blame) action()  {}
