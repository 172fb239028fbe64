package evidence

import (
	"fmt"
	"time"

	"github.com/conchhq/conch/fence"
)

// Record is everything a run left behind.
type Record struct {
	Ledger  []Row    // in the order of their transaction numbers
	Outside []Act    // in the order of the file
	Acks    []Ack    // in any order
	Kills   []Kill   // in any order
	Entries []Entry  // in any order
	Account *Account // nil: nothing was sent to any chain
	// Margin is how long before any successor's a gate is shut. With it acts outside that
	// had their gate's yes in time and were written late are told from those that must
	// not be; without it (0) both count as overlapping.
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

// Act is one act behind the act door: one line of the outside file.
type Act struct {
	Start fence.Instant `json:"start"`
	End   fence.Instant `json:"end"`
	Epoch int64         `json:"epoch"`
	Term  string        `json:"term"`
	Node  string        `json:"node"`
	// Checked is read right before the actor's last look at its gate; 0 if it has none.
	Checked fence.Instant `json:"checked,omitempty"`
}

func (a Act) String() string {
	return fmt.Sprintf("an act of epoch %d by %s (%d to %d ns)", a.Epoch, a.Node, a.Start, a.End)
}

// Ack is one line of a process's own file: this row was committed.
type Ack struct {
	Seq   int64         `json:"seq"`
	Epoch int64         `json:"epoch"`
	Term  string        `json:"term"`
	At    fence.Instant `json:"at"` // when the commit was known
}

// Kill is a leader killed. At is read before the signal leaves.
type Kill struct {
	At    fence.Instant
	Node  string
	Epoch int64 // of the leadership that was killed; 0: it led something else than the work
}

// Entry says that a leader's act door had opened.
type Entry struct {
	At    fence.Instant
	Epoch int64
}
