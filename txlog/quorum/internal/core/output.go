package core

import (
	"slices"

	"github.com/conchhq/conch/internal/step"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/courier"
	"github.com/conchhq/conch/txlog/internal/follower"
	"github.com/conchhq/conch/txlog/internal/wire"
	"github.com/conchhq/conch/txlog/quorum/internal/majority"
	"github.com/conchhq/conch/txlog/store"
)

// Output is what a core asks for. The order is binding: first come the gives, then the writes are stored, in their order, then come the
// acts. Then, if there were writes, Written is the next input; and if Load says so, Loaded comes before every other one.
type Output struct {
	step.Output[Give, Write, Act] // a give needs no store: what heads cover is true, whether it is stored here or not, and waits for no disk

	Load bool
}

// Unread reports whether what the copy has by this step is not to be read before it is stored, or before the copy is made anew from the
// disk. A member has the entries on its disk before it knows them to be committed.
func (o Output) Unread() bool {
	return o.Load || slices.ContainsFunc(o.Writes, func(w Write) bool { return w.Adopt != nil || w.Step != nil && len(w.Step.Records) > 0 })
}

// Write is what is to be stored before anybody hears of what comes of it. One of the fields is there.
type Write struct {
	Persist *majority.Persist // by majority.Promises
	Step    *store.Step
	Adopt   *Adopted
	Fork    *follower.Evidence // left out if there are many already
	Denied  *txlog.Head        // so is this
	Bridge  *follower.Bridge   // as Fork
}

// To stores a write, and returns when it is on the disk, unless it may wait (package quorum, Order). The error is one of the store.
func (w Write) To(s store.Store) error {
	switch {
	case w.Persist != nil:
		return majority.NewPromises(s).Persist(*w.Persist)
	case w.Step != nil:
		return s.Write(*w.Step)
	case w.Fork != nil:
		return keepFork(s, w.Fork)
	case w.Denied != nil:
		return keepDenied(s, w.Denied)
	case w.Bridge != nil:
		return keepBridge(s, w.Bridge)
	}
	return s.Keep(w.Adopt.At, w.Adopt.Snapshot, withOffer(s.View(), w.Adopt.Offer))
}

// Adopted is a snapshot that came from others, ahead of what is here.
type Adopted struct {
	At       txlog.Position
	Snapshot []byte
	Offer    follower.Offer
}

// Act is what the loop is to do: one of the types below.
type Act interface{ act() }

type (
	// Send sends a message to a node. It may be lost.
	Send struct {
		To   string
		Body wire.Body
		Beat bool // it says that this node lives, and may be sent again while a step takes long (pulse)
	}
	// Give sends an answer of package follower, with records that the loop adds from the store: see follower.Give.
	Give follower.Give
	// GivePiece sends a piece of a snapshot from the store.
	GivePiece follower.GivePiece
	// TicketEnded ends a ticket: see courier.Deliver.
	TicketEnded courier.Deliver
	// Publish has gossip tell everybody a head.
	Publish struct{ Head txlog.Head }
	// Perform has an effect performed while the act door is open, and tried again until it shuts (Doors). Done ends it, and Ended if the door has shut.
	Perform struct {
		Key    txlog.Key
		Try    uint64 // no other Perform has it
		Effect txlog.Effect
	}
	// Doors says when this node may act outside.
	Doors struct{ majority.Door }
	// Snapshot has a snapshot stored with its offer, while the loop goes on, and what comes before the last but one dropped.
	// Kept answers when it is there. One that comes while another one is being stored is left out, and so is one that does not fit what the
	// store has since: the next one comes as many entries later. If the disk has failed, the next write ends the loop.
	Snapshot struct {
		Head  txlog.Head // signed
		Photo txlog.Photo
	}
	// Restart has a new core made from what the store has. This one takes no inputs any more.
	Restart struct{ Why error }
	// Lost says that the store has lost what it has promised, or that what is in it does not fit. The node has to go on with another one.
	Lost struct{ Why error }
	// Tell is something that people want to know.
	Tell struct{ Event Event }
)

// To stores a snapshot, drops what comes before the last but one, and returns what the core has to know of it. The error is one
// of the store.
func (a Snapshot) To(s store.Store) (Kept, error) {
	bytes := a.Photo.Bytes()
	offer := follower.SumPieces(a.Head, bytes)
	if err := s.Keep(a.Head.Position, bytes, withOffer(s.View(), offer)); err != nil {
		return Kept{}, err
	}
	if kept := s.View().Kept; len(kept) >= 2 {
		for more := true; more; {
			var err error
			if more, err = s.Compact(kept[len(kept)-2].At.Index); err != nil {
				return Kept{}, err
			}
		}
	}
	return Kept{Offer: offer, First: s.View().Floor.Index + 1}, nil
}

func (Send) act()        {}
func (Give) act()        {}
func (GivePiece) act()   {}
func (TicketEnded) act() {}
func (Publish) act()     {}
func (Perform) act()     {}
func (Doors) act()       {}
func (Snapshot) act()    {}
func (Restart) act()     {}
func (Lost) act()        {}
func (Tell) act()        {}

// Event is something that people want to know: one of the types below.
type Event interface{ event() }

type (
	// Leads says who leads, as a member has learned it.
	Leads struct {
		Term   uint64
		Leader string // empty: nobody is known
		Self   bool
	}
	// Applied says up to where the copy has come, and by which records.
	Applied struct{ Records []txlog.Record }
	// Waits says that another member leads while a goal waits (B10).
	Waits courier.Changed
	// TimedOut says that a goal had no answer in time (B8); it is tried again.
	TimedOut courier.TimedOut
	// Parked says that records are known of, and do not come.
	Parked follower.Parked
	// Forked says that two heads contradict each other.
	Forked follower.Evidence
	// Doubted says that the leader denies a head: follower.Doubted.
	Doubted follower.Doubt
	// Rebuilt says that the copies are made anew from the store, and why.
	Rebuilt struct{ Why error }
	// Refused says that something of a node was left out.
	Refused struct {
		From string
		Why  error
	}
	// Fetched says that a snapshot was taken over, or how far the copy has come where the records before it are not at hand.
	Fetched struct{ Index uint64 }
	// FellBehind says that a member has to fetch records from others, up to an index.
	FellBehind struct{ Upto uint64 }
	// Twin says that two processes have this node's name and key. One is a member, with a store, and the other one's store asks
	// to be admitted: this node is one of the two.
	Twin struct{ Store, Asks uint64 }
	// Member says whether this node is a member now.
	Member struct{ Is bool }
)

func (Leads) event()      {}
func (Applied) event()    {}
func (Waits) event()      {}
func (TimedOut) event()   {}
func (Parked) event()     {}
func (Forked) event()     {}
func (Doubted) event()    {}
func (Rebuilt) event()    {}
func (Refused) event()    {}
func (Fetched) event()    {}
func (FellBehind) event() {}
func (Twin) event()       {}
func (Member) event()     {}
