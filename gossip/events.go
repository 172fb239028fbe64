package gossip

import (
	"slices"
	"time"

	"github.com/conchhq/conch/gossip/internal/core"
	"github.com/conchhq/conch/gossip/internal/hint"
)

// Event is what an agent tells: one of the types below.
type Event interface{ event() }

type (
	// Leader says that the suggested leader of a namespace is another one, or leads in another reign. It is a hint: other
	// nodes may have another one for a while. The newest one of each namespace is told however slow its reader is.
	Leader struct {
		Namespace string
		Leader    Node // zero: nobody is known
		Reign     uint64
		Self      bool          // it is this node
		Before    Node          // the leader until now; the same one if only its reign is another
		Lasted    time.Duration // for how long Before was the leader
	}
	// News is what another subject has said. Each statement is told once at most, unless a peer that lies brings it again more
	// than two minutes (of rounds of 100 ms) later, as if it were new.
	News struct {
		Namespace, Topic string
		Subject          Node
		Body             []byte
		Age              time.Duration // when it came, by the rounds that relays have counted; in Status: now
		Via              string        // the neighbour that brought it first: what the news speaks of, it may have soonest. Status does not have it
	}
	// SteppedDown says that this node no longer leads, since it does not hear or is not heard, or was withdrawn, and for how
	// long it stands back.
	SteppedDown struct {
		Namespace string
		Reign     uint64
		Why       error
		For       time.Duration
	}
	// Refused says that something of a peer was left out.
	Refused struct {
		From    string // the peer that has sent it; empty: this node itself is refused a reign
		Subject Node   // whose statement it was; zero: no single one's
		Why     error  // its text may have words of the peer
		Reason  string // why, as one of Reasons
	}
	// Twin says that two hosts have one key. One of them is not heard. It is told again each minute or so, as long as both run.
	Twin struct {
		Subject Node
		Hosts   [2]string // as they call themselves
	}
	// Unstored says that this start has an incarnation that a full disk did not take. The node takes part.
	Unstored struct {
		File string
		Why  error
	}
	// Missed says that so many events were left out here, since Tell did not return.
	Missed struct{ Events int }
)

func (Leader) event()      {}
func (News) event()        {}
func (SteppedDown) event() {}
func (Refused) event()     {}
func (Twin) event()        {}
func (Unstored) event()    {}
func (Missed) event()      {}

// Reasons returns all reasons why something of a peer is left out, sorted. Those that begin with "overlay-" are of messages that
// make the overlay, the others of statements.
func Reasons() []string { return core.Reasons() }

// Node is another node, or this one.
type Node struct {
	Subject Subject // its key
	// Name is what the configuration calls the node or, if Proven is false, what it says itself: then it is a word, and
	// nothing is proven by it. It is empty if neither is known.
	Name    string
	Proven  bool
	Address string // where the configuration has it, or where it says that it listens
}

// String returns the name, or the first bytes of the key.
func (n Node) String() string {
	switch {
	case n == Node{}:
		return "nobody"
	case n.Name == "":
		return n.Subject.String()
	}
	return n.Name
}

// reign is a leader that was told.
type reign struct {
	leader Node
	since  time.Duration
}

// tell tells the user what the core has found out.
func (a *Agent) tell(now time.Duration, t core.Tell) {
	of := Node(t.Of)
	switch f := t.Fact.(type) {
	case hint.Suggested:
		before := a.followed[f.Namespace]
		l := Leader{Namespace: f.Namespace, Leader: of, Reign: f.Reign, Self: f.Self, Before: before.leader}
		if before.leader != (Node{}) {
			l.Lasted = now - before.since
		}
		a.followed[f.Namespace] = reign{of, f.Since}
		a.mail.put(l)
	case hint.Heard:
		age := time.Duration(f.Age) * a.cfg.Round
		a.mail.put(News{Namespace: f.Namespace, Topic: f.Topic, Subject: of, Body: slices.Clone(f.Body), Age: age, Via: f.Via})
	case hint.SteppedDown:
		a.mail.put(SteppedDown(f))
	case hint.Refused:
		a.mail.put(Refused{From: f.From, Subject: of, Why: f.Why, Reason: core.Reason(f.Why)})
	case hint.Twin:
		a.mail.put(Twin{Subject: of, Hosts: f.Hosts})
	}
}
