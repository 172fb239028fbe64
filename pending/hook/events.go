package hook

import (
	"strconv"
	"time"

	"github.com/conchhq/conch/pending"
)

// Event is an event of an intent, as a receiver is told of it.
type Event struct {
	pending.Event

	ID     int64 // it names the event in its database
	Chain  string
	Key    string        // the intent's idempotency key; empty: it has none
	Age    time.Duration // since At, by the database's clock, when it was read
	Behind bool          // an earlier event of its intent waited in the store when it was read
}

// Name returns the webhook-id: the same each time that the event is told, to whichever receiver. After a restore of the database another
// event may have the ID; it does not have the time.
func (e *Event) Name() string {
	return "evt_" + strconv.FormatInt(e.ID, 10) + "_" + strconv.FormatInt(e.At.UnixMicro(), 36)
}

// Wait is an event that waits in the store, and is the first of its intent there.
type Wait struct {
	Event

	Put   Put
	Tries int           // that have failed
	Since time.Duration // since its first try, or since it was put there
}

// Put names a row of those that wait. A replay gives an event's row another time, so that a note of what was posted before does not remove it.
type Put struct {
	ID int64
	At time.Time // by the store's clock
}

// Place is how far a receiver has been told.
type Place struct {
	UpTo   int64      // every event with an ID up to this one is done
	Beyond [][2]int64 // and so are these above it: from the first to the last ID, in order
}

// Health is what came of a receiver's last answers.
type Health struct {
	Failures int           // in a row
	For      time.Duration // since the first of them
	Why      string        // of the last; others' words
}

// Note is what a store keeps in one transaction. It says how things are, so it may be carried out twice.
type Note struct {
	Place  Place
	Health Health
	Gone   []Put   // that waited and are confirmed
	Again  []Again // that waited and have failed again
	Park   []Park  // that are to wait from now on
	// Aged declares all dead that have waited for [GiveUp] or longer.
	Aged bool
	// Intents are those of Gone, Again and Park: the earliest event of each that waits, and is not dead, is due, if no pause says when.
	Intents []pending.ID
}

// Again is an event in the store that was refused once more.
type Again struct {
	ID    int64
	Tries int
	Pause time.Duration // until it is due
	Why   string
	Dead  bool
}

// Park is an event that is to wait in the store. It is due after the pause, or once nothing of its intent is before it.
type Park struct {
	Again

	Intent pending.ID
	Since  time.Duration // since its first try; 0: it had none
}

// Turn is what a machine asks of a store, in this order.
type Turn struct {
	Note    *Note   // nil: there is nothing to note
	Waits   int     // how many that are due are wanted; 0: none
	Without []int64 // but for these
	Events  int     // how many new events are wanted; 0: none
}

// Turned is the answer to a [Turn].
type Turned struct {
	Waits   []Wait        // that are due
	NextDue time.Duration // until another one is
	Events  []Event       // that were not read before, those of an intent in turn
	Settled int64         // up to this ID there will be no others
	Died    int           // how many are dead by the note
}
