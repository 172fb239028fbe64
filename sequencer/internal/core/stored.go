package core

import (
	"github.com/conchhq/conch/sequencer/internal/book"
	"github.com/conchhq/conch/sequencer/internal/coordinator"
	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Stored is what is stored of a contract.
type Stored struct {
	Book    book.Snapshot
	Intents []sender.Loaded   // without those that have a result, in the order of submission
	Rows    []coordinator.Row // in the order of their dispatch
}

// Change is what one step of a contract's machines stores.
type Change struct {
	Contract string
	Sender   *sender.Store
	Rows     []coordinator.Row
	Noted    []ledger.Intent // whose senders know of the dispatch
	Over     []ledger.Intent // whose rows are over
	Book     *book.Change
}

// Twice is an intent that was not stored: its key has another row.
type Twice struct {
	Contract string
	Sequence ledger.Sequence
}
