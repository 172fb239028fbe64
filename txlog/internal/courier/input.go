package courier

import (
	"github.com/conchhq/conch/txlog"
)

// Input is what the machine is told: one of the types below.
type Input interface{ input() }

type (
	// Tick says that time has passed.
	Tick struct{}
	// Carry asks for a goal to be executed by the leader. Deliver with its ticket ends it, once, after a minute at the latest.
	Carry struct {
		Ticket uint64 // names the asker; each that waits has another one
		txlog.Goal
	}
	// Gone says that an asker waits no longer. Its goal may be executed all the same.
	Gone struct{ Ticket uint64 }
	// Leader says who leads as far as this node knows: itself, if its member machine does. It is a hint.
	Leader struct {
		Name string // empty: nobody is known
		Term uint64 // 0: it is not known
	}
	// Members says who may lead: they are asked if nobody is known to. They come sorted by name.
	Members struct{ Names []string }
	// LeaderSaid is what a member has answered to Send: to this node, or to itself if it is one. The transport has proven
	// from whom it is.
	LeaderSaid struct {
		Try    uint64 // of the Send
		From   string
		Answer txlog.Answer
		Err    error
	}
	// Failed says that a member was not reached, or that the connection to it has ended: what it was sent may be lost, or its
	// answer. What it has done with a goal is not known. An answer that comes all the same counts.
	Failed struct{ To string }
	// Applied says what the node's own copy has taken over.
	Applied struct{ Record txlog.Record }
)

func (Tick) input()       {}
func (Carry) input()      {}
func (Gone) input()       {}
func (Leader) input()     {}
func (Members) input()    {}
func (LeaderSaid) input() {}
func (Failed) input()     {}
func (Applied) input()    {}
