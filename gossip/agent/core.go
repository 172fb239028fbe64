package agent

import (
	"time"

	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/gossip/spray"
	spraywire "github.com/conchhq/conch/gossip/spray/wire"
	"github.com/conchhq/conch/gossip/wire"
	"github.com/conchhq/conch/transport"
)

// core is an agent without its loop: both machines, and what joins them. It is not safe for concurrent use.
type core struct {
	cfg     Config
	known   map[string]Peer         // by name: those of the configuration
	named   map[wire.Subject]string // their keys
	gossip  *gossip.Machine
	overlay *spray.Machine
	valid   time.Duration // the shortest of a heartbeat, of all namespaces
	began   bool          // the loop has run
	active  time.Duration // when the loop has run last
	deaf    time.Duration // until when parcels are left out

	links      map[string]*link
	happened   []transport.Link         // what has become of connections, and was not taken yet
	neighbours map[string]bool          // as the overlay has them
	arcs       []gossip.Peer            // as the other machine has them
	stale      bool                     // these may differ
	pending    []spray.Input            // what an action of the overlay has brought about
	soon       int                      // parts of the first second that are left; one more before it
	keep       spray.Keep               // which connections the caller needs
	leaving    bool                     // connections end later, so that the last messages are sent
	stays      map[string]time.Duration // by namespace: until when this node stands back since a person wants it
	owed       map[string]bool          // by namespace: it is to return after that

	gossipLine, sprayLine transport.Line // nil while nothing is sent
	counts                Counts
	faults                map[string]uint64 // of this node's own user, which the machine counts too
	followed              map[string]follow // by namespace
	tell                  func(Event)
}

func newCore(cfg Config, incarnation uint64, tell func(Event)) *core {
	c := &core{
		cfg: cfg, known: map[string]Peer{}, named: map[wire.Subject]string{cfg.Self: cfg.Transport.Self()},
		gossip: gossip.New(cfg.gossip(incarnation)), overlay: spray.New(cfg.overlay(incarnation)),
		links: map[string]*link{}, neighbours: map[string]bool{}, followed: map[string]follow{}, stays: map[string]time.Duration{}, owed: map[string]bool{},
		soon: Soon + 1, counts: Counts{Refused: map[string]uint64{}}, faults: map[string]uint64{}, tell: tell,
	}
	for _, p := range cfg.Peers {
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
	for _, e := range cfg.electors() {
		c.at(c.named[e]).elector = true
	}
	return c
}

func (c *core) now() time.Duration { return c.cfg.Clock() }

// suggest feeds the machine that suggests.
func (c *core) suggest(in gossip.Input) {
	for _, a := range c.gossip.Step(c.now(), in) {
		c.perform(a)
	}
}

// feed feeds the machine that connects, and tells the other one what has come of it.
func (c *core) feed(in spray.Input) {
	c.pending = append(c.pending, in)
	for len(c.pending) > 0 {
		next := c.pending[0]
		c.pending = c.pending[1:]
		for _, a := range c.overlay.Step(next) {
			c.arrange(a)
		}
	}
}

// awake notes that the loop runs. If it stood still for longer than a heartbeat counts somewhere, what waited meanwhile cannot be
// dated: it would look new, and be told to others as new. So for a round nothing is read, which also empties what waits in
// the transport, and exchanges bring what is missed.
func (c *core) awake() {
	now := c.now()
	if c.began && now-c.active > c.valid {
		c.deaf = now + c.cfg.Round
	}
	c.began, c.active = true, now
}

// heard takes bytes of the line "gossip".
func (c *core) heard(e transport.Envelope) {
	c.counts.received(e)
	if c.now() < c.deaf {
		c.counts.Undated++
		return
	}
	c.suggest(gossip.Message{From: e.From, Body: e.Body})
}

// met takes bytes of the line "spray".
func (c *core) met(e transport.Envelope) {
	c.counts.received(e)
	if c.overlay.Spent(e.From) { // the first that was too much is told of
		c.counts.Refused[overlayReasons[spray.Flooding]]++
		return
	}
	m, err := spraywire.Decode(e.Body)
	if err != nil {
		c.counts.Refused[overlayReason(err)]++
		c.tell(Refused{From: e.From, Subject: c.node(c.subjectOf(e.From)), Why: err, Reason: overlayReason(err)})
		return
	}
	if l := c.links[e.From]; l != nil && l.elector && l.up && l.overlay == unused {
		l.overlay = told // its overlay has asked for the connection that the electors have
		c.feed(spray.Up{Peer: e.From})
	}
	c.feed(spray.Received{From: e.From, Message: m})
	c.tellArcs()
}

// tick lets time pass: a quarter of a round, or all until there is something to do.
func (c *core) tick() {
	c.payBack()
	c.suggest(gossip.Tick{})
}

// due returns when time is to pass next. A node of the crowd need not look before there is something to do: to wake up is most of what
// it costs at rest. It looks no more often than each round.
func (c *core) due() time.Duration {
	pace := c.cfg.pace()
	if pace < c.cfg.Round {
		return c.now() + jittered(pace)
	}
	return max(c.gossip.Due(), c.now()+c.cfg.Round)
}

// turn lets a second pass for the overlay.
func (c *core) turn() {
	c.feed(spray.Tick{})
	c.keepElectors()
	c.tellArcs()
}

// turns lets a second pass for the overlay; or, in the first one, a part of it if this node finds nobody.
func (c *core) turns() {
	if c.soon--; c.soon == Soon || c.soon <= 0 || !c.busy() {
		c.turn()
	}
}

// untilTurn is the time until then.
func (c *core) untilTurn() time.Duration {
	if c.soon > 0 {
		return second / Soon
	}
	return second
}

// busy reports whether this node has a connection, or asks for one.
func (c *core) busy() bool {
	for _, l := range c.links {
		if l.up || l.dialling {
			return true
		}
	}
	return false
}

// publish says something, and returns why it was not said.
func (c *core) publish(in gossip.Publish) (err error) {
	for _, a := range c.gossip.Step(c.now(), in) {
		if r, is := a.(gossip.Refused); is && r.From == "" {
			err = r.Why
			c.faults[gossipReason(err)]++
			continue
		}
		c.perform(a)
	}
	return err
}

// retire has this node say that it does not lead any more, and will not.
func (c *core) retire() {
	for _, n := range c.cfg.Namespaces {
		c.withdraw(n.Name, ErrStopped)
	}
}

// leave says goodbye. The connections are still there.
func (c *core) leave() {
	c.leaving = true
	c.feed(spray.Leave{})
}

// part ends all connections.
func (c *core) part() {
	for name := range c.links {
		c.cfg.Transport.Disconnect(name)
	}
	clear(c.links)
	clear(c.neighbours)
}
