package gossip

import (
	"time"

	"github.com/conchhq/conch/gossip/internal/core"
	"github.com/conchhq/conch/gossip/internal/hint"
)

// Status is what an agent knows, at one instant. It shares nothing with the agent.
type Status struct {
	Self       Node
	Hints      []Hint      // who should lead, by namespace in the order of the configuration
	Neighbours []Neighbour // to whom there are connections, by name
	Arcs       int         // entries of this node's view of the overlay
	Joining    bool        // no contact has answered yet, or all neighbours are gone: it looks for one, with pauses
	Remembered []string    // nodes that it has met, the newest last
	Lost       []string    // nodes that went away and are tried again
	News       []News      // the youngest first, own ones too
	Counts     Counts
}

// Hint is what is known of one namespace.
type Hint struct {
	Namespace string
	Policy    string        // "reign" or "paper"
	Leader    Node          // who should lead, as a hint; zero: nobody is known
	Leads     bool          // it is this node
	Reign     uint64        // in which it leads
	Since     time.Time     // that one is the leader here
	Tenure    time.Duration // since then; 0 if there is none (B21)
	State     string        // of this node: "listening", "following", "leading", "standing back", "parted" or "bystander"
	Back      time.Duration // for which this node still stands back
	Heard     time.Duration // since the leader's last heartbeat was said (B7); below 0: never
	Valid     time.Duration // for how long a heartbeat counts here
	Changes   int           // of the leader, since the start (B21)
	Top       uint64        // the highest reign that was heard of
	Electors  []Node        // who may lead; empty: everybody
	Unled     time.Time     // since when no leader is known; zero if one is
	Lacking   time.Time     // since when this node, an elector, hears no majority of them, so that nobody here may begin to lead; zero: it does
	Silent    []Node        // the electors that it does not hear, if it is one of them
}

// Neighbour is a peer to which there is a connection.
type Neighbour struct {
	Node

	Arcs    int  // of the overlay's view that lead there; with none it needs this node, or is a spare one or an elector
	Elector bool // the connection is kept since both are electors
	Since   time.Time
}

// Counts are of this start. Bytes are those of messages, without what a transport adds.
type Counts struct {
	MessagesSent, MessagesReceived uint64
	BytesSent, BytesReceived       uint64
	Unsent                         uint64            // messages that the transport did not take: the peer is gone, or too slow
	Dropped                        uint64            // messages that found an inbox full
	Undated                        uint64            // parcels that were left out after the process stood still
	Refused                        map[string]uint64 // what peers have sent and was left out, by reason (Reasons has them all)
}

// Status returns what the agent knows now; after Run, what it knew at its end. The leader is judged by the clock of now: after a
// suspension there is none until the agent has listened.
func (a *Agent) Status() Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	now, wall := a.cfg.Clock(), time.Now()
	at := func(t time.Duration) time.Time { return wall.Add(t - now).Round(time.Millisecond) }
	known := a.core.Snapshot(now)
	names := a.core.Names()
	s := Status{
		Self: Node(names(a.cfg.self)), Counts: a.count(known.Counts),
		Arcs: known.Overlay.Arcs, Joining: known.Overlay.Joining, Remembered: known.Overlay.Cache, Lost: known.Overlay.Lost,
	}
	s.Self.Address = a.cfg.Address
	for i, g := range known.Hints {
		s.Hints = append(s.Hints, hintOf(g, a.cfg.Namespaces[i], now, at, names))
	}
	for _, l := range known.Links {
		s.Neighbours = append(s.Neighbours, Neighbour{Node: Node(l.Node), Arcs: l.Arcs, Elector: l.Elector, Since: at(l.Since)})
	}
	for _, n := range known.News {
		s.News = append(s.News, News{Namespace: n.Namespace, Topic: n.Topic, Subject: Node(names(n.Subject)), Body: n.Body, Age: n.Age})
	}
	return s
}

func hintOf(g hint.Status, of Namespace, now time.Duration, at func(time.Duration) time.Time, names func(Subject) core.Node) Hint {
	h := Hint{
		Namespace: g.Namespace, Policy: hint.Reign, Leader: Node(names(g.Leader)), Leads: g.Self, Reign: g.Reign,
		State: g.State.String(), Heard: g.Heard, Valid: g.Valid, Changes: g.Changes, Top: g.Top,
	}
	if of.Paper != nil {
		h.Policy = hint.Paper
	}
	if g.Leader != (Subject{}) {
		h.Since, h.Tenure = at(g.Since), now-g.Since
	} else {
		h.Unled = at(g.Unled)
	}
	if g.Lacking >= 0 {
		h.Lacking = at(g.Lacking)
	}
	for _, e := range g.Silent {
		h.Silent = append(h.Silent, Node(names(e)))
	}
	if g.State == hint.Back {
		h.Back = max(g.Until-now, 0)
	}
	for _, e := range of.Electors {
		h.Electors = append(h.Electors, Node(names(e)))
	}
	return h
}

// count returns the counts of the core, and of the loop.
func (a *Agent) count(c core.Counts) Counts {
	out := a.counts
	out.MessagesReceived, out.BytesReceived, out.Undated, out.Refused = c.MessagesReceived, c.BytesReceived, c.Undated, c.Refused
	out.Unsent += c.Unsent
	if a.statements != nil {
		out.Dropped = a.statements.Dropped() + a.views.Dropped()
	}
	return out
}
