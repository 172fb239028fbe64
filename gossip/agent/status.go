package agent

import (
	"time"

	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/gossip/spray"
)

// Status is what an agent knows, at one instant. It shares nothing with the agent.
type Status struct {
	Self       Node
	Namespaces []Namespace // in the order of the configuration
	Neighbours []Neighbour // to whom there are connections, by name
	Overlay    spray.Status
	News       []Item // the youngest first, own ones too
	Counts     Counts
}

// Namespace is what is known of one namespace.
type Namespace struct {
	Namespace string
	Policy    string
	Leader    Node // who should lead, as a hint; zero: nobody is known
	Leads     bool // it is this node
	Reign     uint64
	Since     time.Time     // that one is the leader here
	Tenure    time.Duration // since then; 0 if there is none (B21)
	State     gossip.State
	Back      time.Duration // for which this node still stands back
	Heard     time.Duration // since the leader's last heartbeat was said (B7); below 0: never
	Valid     time.Duration // for how long a heartbeat counts here
	Changes   int           // of the leader, since the start (B21)
	Top       uint64        // the highest reign that was heard of
	Electors  []Node        // who may lead; empty: everybody
	Known     []Candidate   // those that may lead next, the first of the order first
	Unled     time.Time     // since when no leader is known; zero if one is
	Lacking   time.Time     // since when this node, an elector, hears no majority of them, so that nobody here may begin to lead; zero: it does
	Silent    []Node        // the electors that it does not hear, if it is one of them
}

// Candidate is somebody whose heartbeat was heard.
type Candidate struct {
	Node

	Reign, Seniority uint64
	Leads            bool
	Age              time.Duration // of its last heartbeat
}

// Neighbour is a peer to which there is a connection.
type Neighbour struct {
	Node

	Arcs    int  // of the overlay's view that lead there; with none it needs this node, or is a spare one or an elector
	Elector bool // the connection is kept since both are electors
	Since   time.Time
}

// Item is a piece of news.
type Item struct {
	Namespace, Topic string
	Subject          Node
	Body             []byte
	Age              time.Duration
}
