package follower

import (
	"time"

	"github.com/conchhq/conch/txlog"
)

// Action is what the loop is to do: one of the types below, in order.
type Action interface{ action() }

type (
	// Ask sends a Pull. It may be lost.
	Ask struct {
		To   string
		Pull Pull
	}
	// Give sends a History. If From is above 0, the loop adds records from its store: those from From to Upto that fit into
	// MostAnswer bytes, one at least, and the last head that is stored for any of them; it ends with that head's record, if
	// there is one. Everything that is given is covered by a head: without From it may be sent before Apply is stored.
	Give struct {
		To         string
		History    History
		From, Upto uint64
	}
	// AskPiece sends a Want.
	AskPiece struct {
		To   string
		Want Want
	}
	// GivePiece has the loop read a piece of a snapshot from its store and send it; or one without bytes, if it is not there.
	GivePiece struct {
		To   string
		Want Want
	}
	// Apply says that records were applied to the copy, since a head covers them. The loop stores them, and the head with the last of
	// them, in one synced transaction; readers may see them then.
	Apply struct {
		Records []txlog.Record
		Head    txlog.Head
	}
	// Adopt says that a snapshot has replaced the copy. The loop stores it with its head and its offer, and drops all records
	// up to it, in one synced transaction.
	Adopt struct {
		Base     *txlog.Copy
		Snapshot []byte
		Offer    Offer
	}
	// Keep asks the loop to store a snapshot of the copy at the head's index, and to answer with Kept when it is there. The loop may leave
	// it out: the next one comes SnapshotEvery records later.
	Keep struct {
		Head  txlog.Head
		Photo txlog.Photo
	}
	// KeepBridge asks the loop to store a bridge, for as long as the log lives, if there is room.
	KeepBridge struct{ Bridge Bridge }
	// Sign asks the loop to sign a head with this member's key, to publish it, and to bring it back as Signed. The members
	// change at its index, and this node is one of those before.
	Sign struct{ Head txlog.Head }
	// Evidence says that the log has forked: heads were signed that cannot both be true. A is the head that
	// covers what is here, or the one that came first; zero: none is in memory. The copy stays as it is. The loop keeps both for people.
	Evidence struct {
		A, B  txlog.Head
		Index uint64 // where they part, as far as is known
	}
	// Confirm asks for what a linearizable read asks for: how far the log is, by the word of its leader. Confirmed brings the answer, if there is
	// one within five seconds.
	Confirm struct{}
	// Doubted says that the leader denies a head: the log was not as far after it was heard. It counts no more. Count is how many of its member
	// were denied, with it. The first 16 are told, and then each time that their number has doubled.
	Doubted struct{ Doubt }
	// Parked says that something up to an index is known of, and has not come for a while. It is told once for each gap,
	// and again with For growing.
	Parked struct {
		At, Upto uint64 // the copy's index, and the one that is known of
		For      time.Duration
	}
	// Spoiled says that the copy cannot apply a record that a head covers, or that a scrub has found it to be wrong: memory is wrong, here
	// or, with a record, at the leader. The machine applies nothing until Follow brings a copy that was made anew from the store. It goes on serving history.
	Spoiled struct{ Why error }
	// Refused says that something was left out, and who has sent it. Nobody else is told.
	Refused struct {
		From string
		Why  error
	}
)

func (Ask) action()        {}
func (Give) action()       {}
func (AskPiece) action()   {}
func (GivePiece) action()  {}
func (Apply) action()      {}
func (Adopt) action()      {}
func (Keep) action()       {}
func (KeepBridge) action() {}
func (Sign) action()       {}
func (Evidence) action()   {}
func (Confirm) action()    {}
func (Doubted) action()    {}
func (Parked) action()     {}
func (Spoiled) action()    {}
func (Refused) action()    {}

// Status is what the machine knows of itself.
type Status struct {
	At        txlog.Position
	Head      txlog.Head // the newest one that is verified; zero: none was heard
	Covered   uint64     // the newest index of a head of what is applied
	Known     uint64     // the highest index that a verified head covers, unless the leader has denied it
	Held      int        // records that wait for a head or for those before them
	HeldBytes int
	Waiting   int           // requests of peers that wait for what is not here yet
	Gap       time.Duration // for how long the next record is known of and lacks; 0: it does not
	Fetching  bool          // a snapshot
	Fetched   int           // pieces of it that are here
	Spoiled   bool
	Pace      time.Duration // after which another peer is asked
	Following bool          // the machine applies; else a member does
	Forks     uint64
	Fork      Evidence // the one of the lowest index that still counts; zero: none
	Doubts    []Doubt  // by member
	Counts    Counts
}

// Doubt is a member that has signed heads which the leader has denied: it lies, or its key is stolen, or a store has forgotten what it had
// promised, and the leader leads without that.
type Doubt struct {
	Head  txlog.Head // in Status that of the highest index
	Count uint64     // heads
}

// Counts grow as long as the machine lives.
type Counts struct {
	Asked   uint64 // pulls that were sent
	Doubled uint64 // records that came a second time
	Dropped uint64 // records that came when there was no room for them
}
