package core

import (
	"github.com/conchhq/conch/gossip/internal/hint"
	"github.com/conchhq/conch/gossip/internal/overlay"
	"github.com/conchhq/conch/transport"
)

// The lines of a transport on which a core speaks.
const (
	LineGossip  = "gossip" // statements
	LineOverlay = "spray"  // the overlay's messages
)

// Input is what a core is told: one of the types below.
type Input interface{ input() }

type (
	// Begin has the node take part in what is said. Until then it only finds its place in the overlay.
	Begin struct{}
	// Tick says that time has passed, as Due has asked for. It comes after the messages that wait to be read.
	Tick struct{}
	// Arrived is what has become of connections, in order, and what was read of the lines. Where a connection has ended it has all that
	// waits to be read: the last words on that connection come before its end.
	Arrived struct {
		Links    []transport.Link
		Messages []Message
	}
	// Publish has this node say something under a topic of its own. Unpublished says that it does not.
	Publish hint.Publish
	// Seniority says where this node is in the order of candidates.
	Seniority hint.Seniority
	// Withdraw says that this node cannot do a leader's work now. If it is a person's word Return does not end it.
	Withdraw struct {
		Namespace string
		Why       error
		Person    bool
	}
	// Return takes back what the program has said by Withdraw.
	Return struct{ Namespace string }
	// Keep says which connections the caller needs from Begin on, instead of those that it has needed until now.
	Keep struct{ Peers []overlay.Peer }
	// Leave is the next step by which the node leaves: it says that it does not lead any more, then it says goodbye, then it ends its
	// connections. Each has a round to be heard of before the next one: a peer that hears the goodbye first ends the connection, and would
	// not hear the rest.
	Leave struct{}
)

// Message is what a peer has sent on a line. The transport has proven whose it is.
type Message struct {
	Line, From string
	Body       []byte
}

func (Begin) input()     {}
func (Tick) input()      {}
func (Arrived) input()   {}
func (Publish) input()   {}
func (Seniority) input() {}
func (Withdraw) input()  {}
func (Return) input()    {}
func (Keep) input()      {}
func (Leave) input()     {}

// Act is what a core asks for: one of the types below.
type Act interface{ act() }

type (
	// Connect asks the transport for a connection. What comes of it arrives.
	Connect struct{ Name, Address string }
	// Disconnect ends a connection, or the attempt to make one. Nothing arrives of it after that.
	Disconnect struct{ Name string }
	// Send sends a message on a line to each of several peers. It may be lost.
	Send struct {
		Line string
		To   []string
		Body []byte
	}
	// Unpublished says why this node does not say what Publish has asked for.
	Unpublished struct{ Why error }
	// Tell is a fact that the user wants to know, of both machines.
	Tell struct {
		Fact hint.Action // any but Send
		Of   Node        // its subject, or the leader that is suggested, as it is called now
	}
)

func (Connect) act()     {}
func (Disconnect) act()  {}
func (Send) act()        {}
func (Unpublished) act() {}
func (Tell) act()        {}
