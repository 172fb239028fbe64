package agent

import (
	"time"

	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/gossip/spray"
	spraywire "github.com/conchhq/conch/gossip/spray/wire"
	"github.com/conchhq/conch/gossip/wire"
	"github.com/conchhq/conch/internal/splitmix"
	"github.com/conchhq/conch/transport"
)

// Settings is what a core needs to know.
type Settings struct {
	Gossip  gossip.Config // of the machine that suggests
	Overlay spray.Config  // of the machine that connects; its Self is this node's name and address
	Peers   []Peer        // the nodes that the configuration names
	Seed    uint64        // of the times that differ by chance; random, for each start
}

// Core is one node of an overlay without its loop: both machines, and what joins them. It is pure, and not safe for concurrent use.
type Core struct {
	set     Settings
	now     time.Duration
	known   map[string]Peer         // by name: those of the configuration
	named   map[wire.Subject]string // their keys
	gossip  *gossip.Machine
	overlay *spray.Machine
	valid   time.Duration // the shortest of a heartbeat, of all namespaces
	chance  splitmix.Source

	began  bool // the node takes part
	awake  bool // the loop has run
	active time.Duration
	deaf   time.Duration // until when parcels are left out
	tickAt time.Duration // when time passes next for the machine that suggests
	turnAt time.Duration // when it does for the other one

	links      map[string]*link
	happened   []transport.Link         // what has become of connections, and was not taken yet
	neighbours map[string]bool          // as the overlay has them
	arcs       []gossip.Peer            // as the other machine has them
	stale      bool                     // these may differ
	pending    []spray.Input            // what an action of the overlay has brought about
	soon       int                      // parts of the first second that are left; one more before it
	keep       spray.Keep               // which connections the caller needs
	leaving    int                      // the steps that were taken. After the second one connections end later, so that the last messages are sent
	stays      map[string]time.Duration // by namespace: until when this node stands back since a person wants it
	owed       map[string]bool          // by namespace: it is to return after that

	counts   Counts
	faults   map[string]uint64 // of this node's own user, which the machine counts too
	followed map[string]follow // by namespace
	out      []Act
}

// NewCore returns a core that finds its place in the overlay from its first Tick on, and takes part from Begin on.
func NewCore(s Settings) *Core {
	c := &Core{
		set: s, known: map[string]Peer{}, named: map[wire.Subject]string{s.Gossip.Self: s.Overlay.Self.Name},
		gossip: gossip.New(s.Gossip), overlay: spray.New(s.Overlay), chance: splitmix.Source(s.Seed),
		links: map[string]*link{}, neighbours: map[string]bool{}, followed: map[string]follow{}, stays: map[string]time.Duration{}, owed: map[string]bool{},
		soon: soon + 1, counts: Counts{Refused: map[string]uint64{}}, faults: map[string]uint64{},
	}
	for _, p := range s.Peers {
		c.known[p.Name] = p
		if p.Subject != (wire.Subject{}) {
			c.named[p.Subject] = p.Name
		}
	}
	for i, g := range c.gossip.Snapshot() {
		if i == 0 || g.Valid < c.valid {
			c.valid = g.Valid
		}
	}
	for _, e := range electors(s.Gossip.Self, s.Gossip.Namespaces) {
		c.at(c.named[e]).elector = true
	}
	return c
}

// Step takes an input, and returns what to do, in order. Now is an instant of a clock that never goes back and counts suspended time.
func (c *Core) Step(now time.Duration, in Input) []Act {
	c.now = max(c.now, now)
	switch in := in.(type) {
	case Begin:
		c.begin()
	case Tick:
		c.wakes()
		c.passes()
	case Arrived:
		c.wakes()
		c.arrived(in)
	case Publish:
		c.publish(gossip.Publish(in))
	case Seniority:
		c.suggest(gossip.Seniority(in))
	case Withdraw:
		c.withdraw(in)
	case Return:
		c.comeBack(in.Namespace)
	case Keep:
		if c.keep = spray.Keep(in); c.began {
			c.feed(c.keep)
			c.tellArcs()
		}
	case Leave:
		c.leave()
	}
	out := c.out
	c.out = nil
	return out
}

func (c *Core) do(a Act) { c.out = append(c.out, a) }

func (c *Core) tell(e Event) { c.do(Tell{e}) }

func (c *Core) begin() {
	c.began, c.stale, c.tickAt = true, true, c.now
	c.keepElectors()
	c.feed(c.keep)
	c.tellArcs()
}

// suggest feeds the machine that suggests.
func (c *Core) suggest(in gossip.Input) {
	for _, a := range c.gossip.Step(c.now, in) {
		c.perform(a)
	}
}

// feed feeds the machine that connects, and what comes of that.
func (c *Core) feed(in spray.Input) {
	c.pending = append(c.pending, in)
	for len(c.pending) > 0 {
		next := c.pending[0]
		c.pending = c.pending[1:]
		for _, a := range c.overlay.Step(next) {
			c.arrange(a)
		}
	}
}

// wakes notes that the loop runs. If it stood still for longer than a heartbeat counts somewhere, what waited meanwhile cannot be
// dated: it would look new, and be told to others as new. So for a round nothing is read, which also empties what waits in
// the transport, and exchanges bring what is missed.
func (c *Core) wakes() {
	if c.awake && c.now-c.active > c.valid {
		c.deaf = c.now + c.set.Gossip.Round
	}
	c.awake, c.active = true, c.now
}

// hears takes a message of a peer.
func (c *Core) hears(m Message) {
	c.counts.MessagesReceived++
	c.counts.BytesReceived += uint64(len(m.Body))
	switch {
	case m.Line == LineSpray:
		c.met(m)
	case !c.began: // nobody listens yet
	case c.now < c.deaf:
		c.counts.Undated++
	default:
		c.suggest(gossip.Message{From: m.From, Body: m.Body})
		c.sooner()
	}
}

// met takes a message of the overlay.
func (c *Core) met(in Message) {
	if c.overlay.Spent(in.From) { // the first that was too much is told of
		c.counts.Refused[overlayReasons[spray.Flooding]]++
		return
	}
	m, err := spraywire.Decode(in.Body)
	if err != nil {
		c.counts.Refused[overlayReason(err)]++
		c.tell(Refused{From: in.From, Subject: c.node(c.subjectOf(in.From)), Why: err, Reason: overlayReason(err)})
		return
	}
	if l := c.links[in.From]; l != nil && l.elector && l.up && l.overlay == unused {
		l.overlay = told // its overlay has asked for the connection that the electors have
		c.feed(spray.Up{Peer: in.From})
	}
	c.feed(spray.Received{From: in.From, Message: m})
	c.tellArcs()
}

// publish says something, or tells why it is not said.
func (c *Core) publish(in gossip.Publish) {
	for _, a := range c.gossip.Step(c.now, in) {
		if r, is := a.(gossip.Refused); is && r.From == "" {
			c.faults[gossipReason(r.Why)]++
			c.do(Unpublished{r.Why})
			continue
		}
		c.perform(a)
	}
}

// leave takes the next step.
func (c *Core) leave() {
	switch c.leaving++; c.leaving {
	case 1:
		for _, n := range c.set.Gossip.Namespaces {
			c.standsBack(n.Name, ErrStopped)
		}
	case 2:
		c.feed(spray.Leave{})
	case 3:
		for _, name := range sortedNames(c.links) {
			c.do(Disconnect{Name: name})
		}
		clear(c.links)
		clear(c.neighbours)
	}
}
