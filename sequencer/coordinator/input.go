package coordinator

import (
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/wire"
)

// Input is what the machine is told.
type Input interface{ input() }

type (
	// Received is a message of a member, whose signatures were verified.
	Received struct {
		From    ledger.Account
		Message wire.Message
	}
	// Heard says that another coordinator's heartbeat has named the contract.
	Heard struct{ From ledger.Account }
	// Stored answers Store: the rows are durable.
	Stored struct{ Number uint64 }
	// Included is the next block of the canonical chain. The book has it already.
	Included ledger.Block
	// Rewound says that blocks are gone. The book knows it already.
	Rewound ledger.Rewind
	// Judged answers Judge, in its order.
	Judged struct{ Ends []ledger.End }
	// Tick comes about every 50 ms while the machine is not idle.
	Tick struct{}
)

func (Received) input() {}
func (Heard) input()    {}
func (Stored) input()   {}
func (Included) input() {}
func (Rewound) input()  {}
func (Judged) input()   {}
func (Tick) input()     {}

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
	// Note stores that senders know of the dispatch. Nothing waits for it.
	Note struct{ Intents []ledger.Intent }
	// Forget says that rows are over: the ledger has decided them in a final block.
	Forget struct{ Intents []ledger.Intent }
	// Judge asks what ends grants, in one final block. Judged answers it.
	Judge struct{ Given []ledger.Given }
)

func (Send) action()   {}
func (Pulse) action()  {}
func (Store) action()  {}
func (Submit) action() {}
func (Note) action()   {}
func (Forget) action() {}
func (Judge) action()  {}
