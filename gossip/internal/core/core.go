package core

import (
	"errors"
	"slices"
	"time"

	"github.com/conchhq/conch/gossip/internal/hint"
	"github.com/conchhq/conch/gossip/internal/overlay"
	overlaywire "github.com/conchhq/conch/gossip/internal/overlay/wire"
	"github.com/conchhq/conch/gossip/internal/wire"
	"github.com/conchhq/conch/internal/splitmix"
	"github.com/conchhq/conch/transport"
)

// ErrStopped is why a node that leaves does not lead any more.
var ErrStopped = errors.New("the agent does not run")

// Settings is what a core needs to know.
type Settings struct {
	Hint    hint.Config    // of the machine that suggests
	Overlay overlay.Config // of the machine that connects; its Self is this node's name and address
	Peers   []Peer         // the nodes that the configuration names
	Seed    uint64         // of the times that differ by chance; random, for each start
}

// Peer is a node that the configuration names.
type Peer struct {
	Name    string
	Address string       // host:port; empty if it only connects to others
	Subject wire.Subject // its key; zero if it is not known. An elector has one
}

// Electors returns the subjects to which a node, as one of them, keeps connections.
func Electors(self wire.Subject, in []hint.Namespace) (all []wire.Subject) {
	for _, n := range in {
		if slices.Contains(n.Electors, self) {
			all = append(all, n.Electors...)
		}
	}
	return slices.DeleteFunc(all, func(s wire.Subject) bool { return s == self })
}

// Core is one node of an overlay without its loop: both machines, and what joins them. It is pure, and not safe for concurrent use.
type Core struct {
	set     Settings
	now     time.Duration
	known   map[string]Peer         // by name: those of the configuration
	named   map[wire.Subject]string // their keys
	hint    *hint.Machine
	overlay *overlay.Machine
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
	arcs       []hint.Peer              // as the other machine has them
	stale      bool                     // these may differ
	pending    []overlay.Input          // what an action of the overlay has brought about
	soon       int                      // parts of the first second that are left; one more before it
	keep       overlay.Keep             // which connections the caller needs
	leaving    int                      // the steps that were taken. After the second one connections end later, so that the last messages are sent
	stays      map[string]time.Duration // by namespace: until when this node stands back since a person wants it
	owed       map[string]bool          // by namespace: it is to return after that

	counts Counts
	faults map[string]uint64 // of this node's own user, which the machine counts too
	out    []Act
}

// New returns a core that finds its place in the overlay from its first Tick on, and takes part from Begin on.
func New(s Settings) *Core {
	c := &Core{
		set: s, known: map[string]Peer{}, named: map[wire.Subject]string{s.Hint.Self: s.Overlay.Self.Name},
		hint: hint.New(s.Hint), overlay: overlay.New(s.Overlay), chance: splitmix.Source(s.Seed),
		links: map[string]*link{}, neighbours: map[string]bool{}, stays: map[string]time.Duration{}, owed: map[string]bool{},
		soon: soon + 1, counts: Counts{Refused: map[string]uint64{}}, faults: map[string]uint64{},
	}
	for _, p := range s.Peers {
		c.known[p.Name] = p
		if p.Subject != (wire.Subject{}) {
			c.named[p.Subject] = p.Name
		}
	}
	for i, g := range c.hint.Snapshot() {
		if i == 0 || g.Valid < c.valid {
			c.valid = g.Valid
		}
	}
	for _, e := range Electors(s.Hint.Self, s.Hint.Namespaces) {
		c.linkTo(c.named[e]).elector = true
	}
	return c
}

// Step takes an input, and returns what to do, in order. Now is an instant of a clock that never goes back and counts suspended time.
func (c *Core) Step(now time.Duration, in Input) []Act {
	c.now = max(c.now, now)
	switch in := in.(type) {
	case Begin:
		c.takePart()
	case Tick:
		c.noteAwake()
		c.passTime()
	case Arrived:
		c.noteAwake()
		c.takeArrivals(in)
	case Publish:
		c.publishNews(hint.Publish(in))
	case Seniority:
		c.feedHint(hint.Seniority(in))
	case Withdraw:
		c.withdrawNode(in)
	case Return:
		c.comeBack(in.Namespace)
	case Keep:
		if c.keep = overlay.Keep(in); c.began {
			c.feedOverlay(c.keep)
			c.tellArcs()
		}
	case Leave:
		c.leaveInOrder()
	}
	out := c.out
	c.out = nil
	return out
}

func (c *Core) ask(a Act) { c.out = append(c.out, a) }

func (c *Core) takePart() {
	c.began, c.stale, c.tickAt = true, true, c.now
	c.keepElectors()
	c.feedOverlay(c.keep)
	c.tellArcs()
}

// feedHint feeds the machine that suggests.
func (c *Core) feedHint(in hint.Input) {
	for _, a := range c.hint.Step(c.now, in) {
		c.doHint(a)
	}
}

// feedOverlay feeds the machine that connects, and what comes of that.
func (c *Core) feedOverlay(in overlay.Input) {
	c.pending = append(c.pending, in)
	for len(c.pending) > 0 {
		next := c.pending[0]
		c.pending = c.pending[1:]
		for _, a := range c.overlay.Step(next) {
			c.doOverlay(a)
		}
	}
}

// noteAwake notes that the loop runs. If it stood still for longer than a heartbeat counts somewhere, what waited meanwhile cannot be
// dated: it would look new, and be told to others as new. So for a round nothing is read, which also empties what waits in
// the transport, and exchanges bring what is missed.
func (c *Core) noteAwake() {
	if c.awake && c.now-c.active > c.valid {
		c.deaf = c.now + c.set.Hint.Round
	}
	c.awake, c.active = true, c.now
}

// hearMessage takes a message of a peer.
func (c *Core) hearMessage(m Message) {
	c.counts.MessagesReceived++
	c.counts.BytesReceived += uint64(len(m.Body))
	switch {
	case m.Line == LineOverlay:
		c.hearOverlay(m)
	case !c.began: // nobody listens yet
	case c.now < c.deaf:
		c.counts.Undated++
	default:
		c.feedHint(hint.Message{From: m.From, Body: m.Body})
		c.tickSooner()
	}
}

// hearOverlay takes a message of the overlay.
func (c *Core) hearOverlay(in Message) {
	if c.overlay.Spent(in.From) { // the first that was too much is told of
		c.counts.Refused[Reason(refusal(overlay.Flooding))]++
		return
	}
	m, err := overlaywire.Decode(in.Body)
	if err != nil {
		c.refuse(in.From, err)
		return
	}
	if l := c.links[in.From]; l != nil && l.elector && l.up && l.overlay == unused {
		l.overlay = told // its overlay has asked for the connection that the electors have
		c.feedOverlay(overlay.Up{Peer: in.From})
	}
	c.feedOverlay(overlay.Received{From: in.From, Message: m})
	c.tellArcs()
}

// publishNews says something, or tells why it is not said.
func (c *Core) publishNews(in hint.Publish) {
	for _, a := range c.hint.Step(c.now, in) {
		if r, is := a.(hint.Refused); is && r.From == "" {
			c.faults[Reason(r.Why)]++
			c.ask(Unpublished{r.Why})
			continue
		}
		c.doHint(a)
	}
}

// leaveInOrder takes the next step.
func (c *Core) leaveInOrder() {
	switch c.leaving++; c.leaving {
	case 1:
		for _, n := range c.set.Hint.Namespaces {
			c.standBack(n.Name, ErrStopped)
		}
	case 2:
		c.feedOverlay(overlay.Leave{})
	case 3:
		for _, name := range sortedNames(c.links) {
			c.ask(Disconnect{Name: name})
		}
		clear(c.links)
		clear(c.neighbours)
	}
}
