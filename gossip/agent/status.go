package agent

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/gossip/spray"
	"github.com/conchhq/conch/gossip/wire"
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

// status returns a copy of what is known.
func (c *core) status() Status {
	now, wall := c.now(), time.Now()
	c.gossip.Pass(now)
	at := func(t time.Duration) time.Time { return wall.Add(t - now).Round(time.Millisecond) }
	hosts := c.hosts()
	s := Status{Self: c.node(c.cfg.Self), Overlay: c.overlay.Snapshot(), Counts: c.counted()}
	s.Self.Address = c.cfg.Address
	for i, g := range c.gossip.Snapshot() {
		n := Namespace{
			Namespace: g.Namespace, Policy: policyOf(c.cfg.Namespaces[i].Policy), Leader: c.nodeBy(g.Leader, hosts), Leads: g.Self, Reign: g.Reign,
			State: g.State, Heard: g.Heard, Valid: g.Valid, Changes: g.Changes, Top: g.Top,
		}
		if g.Leader != (wire.Subject{}) {
			n.Since, n.Tenure = at(g.Since), now-g.Since
		} else {
			n.Unled = at(g.Unled)
		}
		if g.Lacking >= 0 {
			n.Lacking = at(g.Lacking)
		}
		for _, e := range g.Silent {
			n.Silent = append(n.Silent, c.nodeBy(e, hosts))
		}
		if g.State == gossip.Back {
			n.Back = max(g.Until-now, 0)
		}
		for _, e := range c.cfg.Namespaces[i].Electors {
			n.Electors = append(n.Electors, c.nodeBy(e, hosts))
		}
		for _, k := range g.Known {
			n.Known = append(n.Known, Candidate{Node: c.nodeBy(k.Subject, hosts), Reign: k.Reign, Seniority: k.Seniority, Leads: k.Leads, Age: k.Age})
		}
		s.Namespaces = append(s.Namespaces, n)
	}
	for _, name := range slices.Sorted(maps.Keys(c.links)) {
		if l := c.links[name]; c.carries(name, l) {
			s.Neighbours = append(s.Neighbours, Neighbour{
				Node: Node{Subject: c.subjectOf(name), Name: name, Proven: true, Address: c.known[name].Address},
				Arcs: c.overlay.Arcs(name), Elector: l.elector, Since: at(l.since),
			})
		}
	}
	for _, n := range c.gossip.News() {
		s.News = append(s.News, Item{Namespace: n.Namespace, Topic: n.Topic, Subject: c.nodeBy(n.Subject, hosts), Body: slices.Clone(n.Body), Age: n.Age})
	}
	return s
}

func policyOf(name string) string {
	if name == gossip.Paper {
		return name
	}
	return gossip.Reign
}

// hosts returns what subjects say of themselves.
func (c *core) hosts() map[wire.Subject]string {
	out := map[wire.Subject]string{}
	for _, g := range c.gossip.Snapshot() {
		for _, k := range g.Known {
			out[k.Subject] = k.Host
		}
	}
	return out
}

// node says who a subject is.
func (c *core) node(s wire.Subject) Node { return c.nodeBy(s, nil) }

// nodeBy says who a subject is: by the configuration, else by the connection to it, else by its own word.
func (c *core) nodeBy(s wire.Subject, hosts map[wire.Subject]string) Node {
	if s == (wire.Subject{}) {
		return Node{}
	}
	if name, is := c.named[s]; is {
		return Node{Subject: s, Name: name, Proven: true, Address: c.known[name].Address}
	}
	if hosts == nil {
		hosts = c.hosts()
	}
	said, address := nameIn(hosts[s])
	for name, l := range c.links {
		if l.up && l.key == s {
			return Node{Subject: s, Name: name, Proven: true, Address: address}
		}
	}
	if c.isAnothers(said, s) {
		said = ""
	}
	return Node{Subject: s, Name: said, Address: address}
}

// isAnothers reports whether a name is known to be that of another subject.
func (c *core) isAnothers(name string, s wire.Subject) bool {
	if name == c.cfg.Transport.Self() || c.known[name].Subject != (wire.Subject{}) {
		return true // else its subject would have been found by the configuration
	}
	l := c.links[name]
	return l != nil && l.up && l.key != (wire.Subject{}) && l.key != s
}

// hostOf is what a node says of itself in its heartbeats: its name, and where it listens if there is room for that. So
// two hosts that have one key by mistake can be told apart.
func hostOf(name, address string) string {
	if host := name + "@" + address; address != "" && len(host) <= wire.MostName {
		return host
	}
	return name
}

func nameIn(host string) (name, address string) {
	name, address, _ = strings.Cut(host, "@")
	return name, address
}
