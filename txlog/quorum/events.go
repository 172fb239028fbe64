package quorum

import (
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum/internal/core"
)

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
	Waits struct{ GoalID, From, To string }
	// TimedOut says that a goal had no answer in time (B8); it is tried again.
	TimedOut struct{ GoalID, To string }
	// Parked says that records are known of, and do not come. It is told once for each gap, and again with For growing.
	Parked struct {
		At, Upto uint64 // the copy's index, and the one that is known of
		For      time.Duration
	}
	// Forked says that two heads contradict each other: they were signed, and cannot both be true. The copy stays as it is.
	Forked struct {
		A, B  txlog.Head // A covers what is here, or came first; zero: none is in memory
		Index uint64     // where they part, as far as is known
	}
	// Doubted says that the leader denies a head: the log was not as far when its member signed it. It counts no more. The first 16 of a member
	// are told, and then each time that their number has doubled.
	Doubted struct {
		Head  txlog.Head // in Status that of the highest index
		Count uint64     // of the member's heads that were denied, with it
	}
	// Rebuilt says that the copies are made anew from the store, and why.
	Rebuilt struct{ Why error }
	// Refused says that something of a node was left out.
	Refused struct {
		From   string
		Reason string // one of Reasons
		Why    error
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

// Reasons returns what the reason of a Refused may be.
func Reasons() []string { return core.Reasons() }

// eventOf returns what users are told of what the core tells.
func eventOf(e core.Event) Event {
	switch e := e.(type) {
	case core.Leads:
		return Leads(e)
	case core.Applied:
		return Applied(e)
	case core.Waits:
		return Waits(e)
	case core.TimedOut:
		return TimedOut(e)
	case core.Parked:
		return Parked(e)
	case core.Forked:
		return Forked(e)
	case core.Doubted:
		return Doubted(e)
	case core.Rebuilt:
		return Rebuilt(e)
	case core.Refused:
		return Refused{From: e.From, Reason: core.Reason(e.Why), Why: e.Why}
	case core.Fetched:
		return Fetched(e)
	case core.FellBehind:
		return FellBehind(e)
	case core.Twin:
		return Twin(e)
	case core.Member:
		return Member(e)
	}
	return nil
}
