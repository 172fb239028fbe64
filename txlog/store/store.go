package store

import "github.com/conchhq/conch/txlog"

// Store keeps one node's part of one log. One goroutine writes; any number may read meanwhile. A reading copies what it returns
// and ends, so nobody waits for long: a writer waits for the readings that have begun only when the file has to grow, and a
// reading never waits for a sync.
//
// Each method may return ErrDamaged, ErrSync or ErrClosed; after one of them the store is of no use.
type Store interface { //nolint:interfacebloat // what a node keeps is one thing, and half of it is worth nothing
	// View returns what is here.
	View() View
	// Genesis returns how the log began.
	Genesis() txlog.Genesis
	// Value returns a copy of a named value, nil if there is none.
	Value(name string) []byte
	// Names returns the names of the values that begin with a prefix, sorted.
	Names(prefix string) []string
	// Write stores a step: when it returns, all of it is on the disk, and all lazy steps before it. After ErrStep nothing has
	// changed.
	Write(step Step) error
	// Flush stores the lazy steps that are not on the disk yet.
	Flush() error
	// Records returns records from an index on: at least one if it is here, and more while their bytes are no more than most.
	// At the index after the last one there are none. The error is ErrGone if the index is not here.
	Records(from uint64, most int) ([]txlog.Record, error)
	// Slots returns slots from an index on, as Records does.
	Slots(from uint64, most int) ([]Slot, error)
	// Head returns the newest head that is here for an index from one to another, both included. It is false if there is none.
	Head(from, upto uint64) (head txlog.Head, found bool, err error)
	// Keep stores a snapshot of the log at a position: one of a record that is here, or a later one; then all records and
	// heads before it are dropped, and the log goes on from there. Slots stay: what was promised with them is for the
	// authority to end. Values and heads of a step are stored at once with it. Keep may take a while, writes in several
	// transactions, and another goroutine may write steps meanwhile. A snapshot that was cut short is none.
	Keep(at txlog.Position, snapshot []byte, with Step) error
	// Piece returns up to most bytes of the snapshot at an index, from an offset on. The error is ErrGone.
	Piece(index uint64, offset, most int) ([]byte, error)
	// Compact drops records up to an index, and heads and snapshots below it, a bounded number at once: more says that there is more to
	// drop. The index must not be above the newest snapshot's. What comes before the records that stay is View.Floor.
	Compact(upto uint64) (more bool, err error)
	// Close ends the use of the store.
	Close() error
}

// View says what is in a store.
type View struct {
	ID        uint64         // of the store, drawn by chance when it was made
	Floor     txlog.Position // the records after it are here
	Last      txlog.Position // of the newest record; the floor if there is none
	FirstSlot uint64         // index of the first slot
	NextSlot  uint64         // index after the last slot; FirstSlot if there is none
	Kept      []Kept         // the snapshots, by index
}

// Kept is a snapshot in a store.
type Kept struct {
	At   txlog.Position
	Size int
	Hash txlog.Hash // SHA-256 of its bytes
}

// Slot is something that is stored in order and may be replaced later: an entry of an authority's own log.
type Slot struct {
	Index  uint64
	Body   []byte       // not changed while the store has it
	Record txlog.Record // what the entry is for; without bytes: it has none. A step that adds this record to the log stores it no second time
}

// Size returns how many bytes a slot has.
func (s Slot) Size() int { return len(s.Body) + len(s.Record.Raw()) }

// Step is what a node stores at once.
type Step struct {
	Values  map[string][]byte // by name; nil removes one
	Empty   bool              // all slots that are here are dropped first, and the new ones may begin anywhere
	Below   uint64            // slots below this index are dropped; 0: none
	Slots   []Slot            // without gaps. Those from the first one's index on are replaced. Their records are in order
	Records []txlog.Record    // they follow the last one
	Heads   []txlog.Head      // one at an index; each is kept until what comes after its record is dropped
	Lazy    bool              // it may wait in memory for the next step or Flush, and everybody sees it meanwhile. Not with slots
}
