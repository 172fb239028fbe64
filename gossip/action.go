package gossip

import (
	"time"

	"github.com/conchhq/conch/gossip/wire"
)

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
