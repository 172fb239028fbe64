// Package transport carries messages between the nodes of several organisations.
//
// A message may be lost, late, doubled or out of order, and is never altered: what has to arrive is sent again by the
// machine that knows of it, until it is acknowledged. A node speaks only as itself: the receiver's Envelope has the name
// under which the sender has proven its identity. A peer that is slow, dead or floods costs the others nothing.
//
// Package memory is a network in one process, with faults by a seed; package mtls is the one between processes.
// Package transporttest is the suite that both must pass.
//
// Sources: requirements I9, I10; document 002.
package transport

import "errors"

// MostBody is the largest body in bytes.
const MostBody = 4 << 20

// Envelope is a message as it arrives.
type Envelope struct {
	From    string // the name of the node that has sent it, proven
	Subject string // of the line on which it came
	Body    []byte // the receiver's own
}

// Endpoint is one node's place in a network. It is safe for concurrent use.
type Endpoint interface {
	// Self returns the node's name.
	Self() string
	// Peers returns the names of the other nodes that it knows, sorted.
	Peers() []string
	// Open returns the line for one subject, such as a wing's name: each wing reads its own messages. A second line
	// of a subject is refused while the first one is open.
	Open(subject string) (Line, error)
}

// Line is one subject of an endpoint. It is safe for concurrent use.
type Line interface { //nolint:interfacebloat // what a reader and a writer need
	// Send hands a message to the network, and never waits. The body is copied. The error is ErrPeer, ErrBody, ErrFull
	// or ErrClosed; without one the message is on its way, and may still be lost.
	Send(to string, body []byte) error
	// Inbox has what arrives. What comes while it is full is dropped and counted: its reader has to be quick.
	Inbox() <-chan Envelope
	// Dropped returns how many messages found the inbox full.
	Dropped() uint64
	// Close ends the line. The inbox is not closed, and nothing arrives in it any more.
	Close()
}

var (
	// ErrPeer means that no node with that name is known.
	ErrPeer = errors.New("no such peer")
	// ErrBody means that the body is larger than MostBody.
	ErrBody = errors.New("the message is too large")
	// ErrFull means that too much waits for that peer already.
	ErrFull = errors.New("too many messages wait for the peer")
	// ErrClosed means that the line was closed.
	ErrClosed = errors.New("the line is closed")
	// ErrTaken means that the subject has a line already.
	ErrTaken = errors.New("the subject has a line already")
)
