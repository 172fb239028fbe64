package core

import (
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/courier"
	"github.com/conchhq/conch/txlog/internal/follower"
	"github.com/conchhq/conch/txlog/internal/member"
	"github.com/conchhq/conch/txlog/internal/wire"
)

// Input is what a core is told: one of the types below.
type Input interface{ input() }

type (
	// Tick says that a round has passed. It comes after the messages that wait to be read.
	Tick struct {
		At int64 // milliseconds since 1970, for people
	}
	// Soon says that a part of a round has passed, while the copy lacks something.
	Soon struct{}
	// Received is a message. The transport has proven from which node it is.
	Received struct {
		From string
		Body wire.Body
	}
	// Faulty says that a node has sent what cannot be read.
	Faulty follower.Faulty
	// Headed is a head, as gossip has brought it, and the neighbour that brought it first.
	Headed follower.Heard
	// Suggested names whom gossip suggests as the leader.
	Suggested struct{ Name string }
	// Unsent says that a message to a node was not sent.
	Unsent struct{ To string }
	// Peers says which nodes are connected.
	Peers struct{ Names []string }
	// UserGoal asks for a goal to be executed by the leader. TicketEnded ends it. Its ticket is no read's or change's either.
	UserGoal courier.Carry
	// Read asks for everything that was acknowledged before: once it is answered, the copy has it.
	Read struct{ Ticket uint64 }
	// Change asks for another set of members, sorted by name, instead of those that an asker has seen as of Status.MembersAt. Only the leader takes it.
	Change member.Change
	// Gone says that an asker waits no longer.
	Gone struct{ Ticket uint64 }
	// Written says that the writes of the last output are stored.
	Written struct{}
	// Loaded brings what the store has, after Output.Load.
	Loaded struct{ Has Has }
	// Done says that an effect was performed.
	Done struct{ Key txlog.Key }
	// Ended says that an effect is performed no more, since the act door is shut, and may not have been. Key and Try are those of Perform.
	Ended struct {
		Key txlog.Key
		Try uint64
	}
	// Kept says that a snapshot is in the store, and which record is the first one that is there now.
	Kept struct {
		Offer follower.Offer
		First uint64
	}
	// Batch is several inputs that came together: what is to be kept of all is kept at once.
	Batch []Input
)

// Ticket returns the ticket of a question; 0: it is none.
func Ticket(in Input) uint64 {
	switch in := in.(type) {
	case UserGoal:
		return in.Ticket
	case Read:
		return in.Ticket
	case Change:
		return in.Ticket
	}
	return 0
}

func (Tick) input()      {}
func (Soon) input()      {}
func (Received) input()  {}
func (Faulty) input()    {}
func (Headed) input()    {}
func (Suggested) input() {}
func (Unsent) input()    {}
func (Peers) input()     {}
func (UserGoal) input()  {}
func (Read) input()      {}
func (Change) input()    {}
func (Gone) input()      {}
func (Written) input()   {}
func (Loaded) input()    {}
func (Done) input()      {}
func (Ended) input()     {}
func (Kept) input()      {}
func (Batch) input()     {}
