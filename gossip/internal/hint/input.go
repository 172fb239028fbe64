package hint

import (
	"time"

	"github.com/conchhq/conch/gossip/internal/wire"
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

// Action is one of the types below.
type Action interface{ action() }

type (
	// Send sends one parcel to several peers. It may be lost.
	Send struct {
		To     []string
		Parcel wire.Parcel
	}
	// Suggested says that the suggested leader of a namespace is another one. It is a hint: other nodes may have another
	// one for a while.
	Suggested struct {
		Namespace string
		Suggestion
	}
	// Heard is news of another subject. Each statement comes once at most while it is known, which is two minutes (of rounds of 100 ms) or
	// until there is too much news; one that another replaced on the way does not come. A peer that has kept it, and says
	// later that it is new, has it come again: a caller for which it matters should look at its incarnation and sequence.
	Heard struct {
		wire.Statement

		Age int32  // in rounds
		Via string // the peer that brought it here first
	}
	// SteppedDown says that this node no longer leads of its own accord, and for how long it stands back.
	SteppedDown struct {
		Namespace string
		Reign     uint64
		Why       error
		For       time.Duration
	}
	// Refused says that something was left out, and which peer has sent it. Nobody else is told.
	Refused struct {
		From    string       // the peer that has sent it; empty: this node's own user
		Subject wire.Subject // whose statement it was; zero: no single one's
		Why     error
	}
	// Twin says that two hosts have one key. Both run, and one of them is not heard. It comes again as long as that is so, each
	// minute or so.
	Twin struct {
		Subject wire.Subject
		Hosts   [2]string // as they call themselves, sorted
	}
)

func (Send) action()        {}
func (Suggested) action()   {}
func (Heard) action()       {}
func (SteppedDown) action() {}
func (Refused) action()     {}
func (Twin) action()        {}

// Suggestion says which node should lead. It opens no gate.
type Suggestion struct {
	Leader wire.Subject  // zero: nobody is known
	Reign  uint64        // 0: the leader took it where there was nobody to hear
	Since  time.Duration // on this node's clock
	Self   bool
}

// Status is what a machine knows of a namespace.
type Status struct {
	Namespace string
	Suggestion

	State   State
	Until   time.Duration  // it listens or stands back; on this node's clock
	Valid   time.Duration  // for how long a heartbeat counts at this node
	Heard   time.Duration  // since the leader's last heartbeat was said (B7); below 0: never
	Changes int            // of the suggested leader (B21)
	Top     uint64         // the highest reign that was heard of
	Known   []Known        // candidates, the first of the order first
	Unled   time.Duration  // since when no leader is known, if there is none; on this node's clock
	Lacking time.Duration  // since when this node, an elector, hears no majority of them, so that nobody here may begin to lead; below 0: it does
	Silent  []wire.Subject // the electors that it has not heard within Valid, if it is one of them
}

// Known is a candidate that was heard.
type Known struct {
	Subject wire.Subject
	wire.Heartbeat

	Age time.Duration
}

// Item is a piece of news that is kept.
type Item struct {
	wire.Statement

	Age time.Duration
}
