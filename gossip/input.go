package gossip

import (
	"time"

	"github.com/conchhq/conch/gossip/wire"
)

// Input is what the machine is told: one of the types below.
type Input interface{ input() }

type (
	// Tick says that time has passed.
	Tick struct{}
	// Arcs says which peers there are connections to. A peer that is new, or has another connection than before, is asked what it knows.
	Arcs struct{ Peers []Peer }
	// Peer is the other end of a connection.
	Peer struct {
		Name    string        // for Send
		Subject wire.Subject  // the key that it has proven; zero if it is not known
		Since   time.Duration // when the connection came up, on the caller's clock: it tells one from the next
	}
	// Message is what a peer has sent, as it came: a parcel, if wire.Decode takes it. The transport has proven whose it is. It is not
	// decoded if the peer has sent too much.
	Message struct {
		From string
		Body []byte
	}
	// Received is a parcel that was decoded.
	Received struct {
		From   string
		Parcel wire.Parcel
	}
	// Publish has this node say something under a topic of its own. What it said before under it is replaced.
	Publish struct {
		Namespace, Topic string
		Body             []byte // at most wire.MostBody bytes
	}
	// Seniority says where this node is in the order of candidates: the larger the more senior. It is 0 until it is said.
	Seniority struct {
		Namespace string
		Value     uint64
	}
	// Withdraw is the user's word that this node cannot do a leader's work. It stands back for two validities. Said again while that stands, it
	// does so from then. Said when that is over, it stands back for twice as long as the last time, 64 validities at most, until it has led
	// for longer than these. What it does for reasons of its own makes that no longer. Policy paper has no such word.
	Withdraw struct {
		Namespace string
		Why       string // for SteppedDown
	}
	// Return takes Withdraw back: the node stands again, after it has listened. It counts as if it had never been withdrawn: the next time is
	// the first one, and a node that stands back for another reason too goes on to.
	Return struct {
		Namespace string
	}
)

func (Tick) input()      {}
func (Arcs) input()      {}
func (Message) input()   {}
func (Received) input()  {}
func (Publish) input()   {}
func (Seniority) input() {}
func (Withdraw) input()  {}
func (Return) input()    {}
