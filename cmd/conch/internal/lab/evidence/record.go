package evidence

import (
	"fmt"
	"time"

	"github.com/conchhq/conch/fence"
)

// Record is the evidence that a run left behind. Acks, Kills and Entries are in any order.
type Record struct {
	Ledger  []Row // in the order of their transaction numbers
	Outside []Act // in file order
	Acks    []Ack
	Kills   []Kill
	Entries []Entry
	Account *Account // nil: no transactions were sent
	Cron    *Cron    // nil: none was run
	Hook    *Hook    // nil: nobody was told of transactions
	// Margin is how long before any successor's gate opens the previous gate is shut. It tells
	// acts that their gate allowed in time but that were written late from faults; if it is 0,
	// both count as overlapping.
	Margin time.Duration
}

// Row is one committed row of the ledger.
type Row struct {
	Seq   int64
	Epoch int64
	Term  string
	Node  string
}

func (r Row) String() string {
	return fmt.Sprintf("row %d of epoch %d by %s", r.Seq, r.Epoch, r.Node)
}

// Act is one act behind the act door, a line of the outside file.
type Act struct {
	Start fence.Instant `json:"start"`
	End   fence.Instant `json:"end"`
	Epoch int64         `json:"epoch"`
	Term  string        `json:"term"`
	Node  string        `json:"node"`
	// Checked is read right before the last look at the gate; 0 if there is no gate.
	Checked fence.Instant `json:"checked,omitempty"`
}

func (a Act) String() string {
	return fmt.Sprintf("an act of epoch %d by %s (%d to %d ns)", a.Epoch, a.Node, a.Start, a.End)
}

// Ack is a process's own record that a row is committed.
type Ack struct {
	Seq   int64         `json:"seq"`
	Epoch int64         `json:"epoch"`
	Term  string        `json:"term"`
	At    fence.Instant `json:"at"` // when the process knew of the commit
}

// Kill is a killed leader. At is read before the signal is sent.
type Kill struct {
	At    fence.Instant
	Node  string
	Epoch int64 // epoch of the killed leadership; 0: it led another scope
}

// Entry records that a leader's act door was open.
type Entry struct {
	At    fence.Instant
	Epoch int64
}
