package crowd

import (
	"crypto/ed25519"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/gossip/agent"
	"github.com/conchhq/conch/gossip/spray"
	"github.com/conchhq/conch/gossip/wire"
	"github.com/conchhq/conch/internal/world"
)

const namespace = "site"

// node is one process.
type node struct {
	r       *run
	index   int
	name    string
	subject wire.Subject
	elector bool
	lives   int
	clock   *world.Clock
	core    *agent.Core
	begun   bool             // it takes part in what is said
	passed  map[word]bool    // heartbeats of others that it has passed on in this life
	ends    []*end           // of its connections, by index
	dials   map[*node]uint64 // that are under way
	door    door
	waits   []func()       // what has happened while it was frozen
	arrives *agent.Arrived // nil but while it goes on after that: what comes of it
	learned [][]time.Duration
	alarm   alarm

	up, paused, deaf, mute, serves bool
	dark                           bool          // it died with its host, so that nobody says so
	pauses                         int           // how often it was frozen
	side                           int           // nodes of different sides do not hear each other
	troubled                       time.Duration // the last instant at which something was wrong with it
	believes                       gossip.Suggestion
	out, back                      time.Duration // when it last left service, and came back
	led                            time.Duration // when it began to lead
	senior                         uint64
	says                           func(wire.Said) // sees what it sends; it may be nil
	words                          []time.Duration // of an elector: see told
}

// scheme is a signature that only its subject can make, as long as nobody else calls sign.
type scheme struct {
	self wire.Subject
	lax  bool // it takes every signature for a right one
}

func sign(by wire.Subject, b []byte) []byte {
	h := fnv.New64a()
	_, _ = h.Write(by[:])
	_, _ = h.Write(b)
	return binary.BigEndian.AppendUint64(make([]byte, signatureSize-8, signatureSize), h.Sum64())
}

// signatureSize is how long the signature of a node is (gossip.Pinned), so that bytes are those of real nodes.
const signatureSize = ed25519.PublicKeySize + ed25519.SignatureSize

// Sign implements gossip.Scheme.
func (s scheme) Sign(b []byte) []byte { return sign(s.self, b) }

// Verify implements gossip.Scheme.
func (s scheme) Verify(by wire.Subject, b, signature []byte) bool {
	return s.lax || string(sign(by, b)) == string(signature)
}

// boot starts a process: its place in the overlay, and what it suggests.
func (n *node) boot() {
	n.joins()
	n.begin()
}

// joins starts a process with its place in the overlay. It knows nothing of its last life.
func (n *node) joins() {
	r := n.r
	n.lives++
	n.up, n.paused, n.dark, n.begun = true, false, false, false
	n.ends, n.waits, n.words, n.door, n.alarm = nil, nil, nil, door{}, alarm{at: -1}
	n.dials = map[*node]uint64{}
	n.core = agent.NewCore(agent.Settings{Gossip: r.machineOf(n), Overlay: r.overlayOf(n), Peers: r.configured(n), Seed: r.w.Draw()})
	n.step(agent.Tick{})
}

// begin has a process suggest a leader.
func (n *node) begin() {
	n.begun, n.believes, n.passed = true, gossip.Suggestion{}, map[word]bool{}
	n.r.serves(n, true)
	n.step(agent.Seniority{Namespace: namespace, Value: n.senior})
	n.step(agent.Begin{})
	n.step(agent.Tick{})
}

// configured returns the nodes that the configuration of a process names.
func (r *run) configured(n *node) (all []agent.Peer) {
	for _, o := range r.nodes[:r.cfg.Electors] {
		if o != n {
			all = append(all, agent.Peer{Name: o.name, Address: o.peer().Address, Subject: o.subject})
		}
	}
	for _, o := range r.contacts {
		if o != n && !o.elector {
			all = append(all, agent.Peer{Name: o.name, Address: o.peer().Address})
		}
	}
	return all
}

// peer is a node as the overlay knows it.
func (n *node) peer() spray.Peer {
	return spray.Peer{Name: n.name, Address: fmt.Sprintf("10.0.%d.%d:7946", n.index>>8, n.index&0xff)}
}

func (r *run) overlayOf(n *node) spray.Config {
	c := spray.Config{Self: n.peer(), Incarnation: r.w.Draw() | 1, Seed: r.w.Draw()}
	for _, o := range r.contacts {
		if o != n {
			c.Contacts = append(c.Contacts, o.peer())
		}
	}
	return c
}

func (r *run) machineOf(n *node) gossip.Config {
	ns := gossip.Namespace{Name: namespace, Policy: r.cfg.Policy, Diameter: r.cfg.Diameter, Every: 1, Paper: r.cfg.Paper}
	if r.open() {
		ns.Every = 10
	}
	for _, e := range r.nodes {
		if e.elector {
			ns.Electors = append(ns.Electors, e.subject)
		}
	}
	c := gossip.Config{
		Self: n.subject, Host: n.name, Incarnation: uint64(n.lives), Seed: r.w.Draw(), Scheme: scheme{n.subject, r.cfg.Break == ownSignature},
		Namespaces: []gossip.Namespace{ns}, Round: round,
	}
	if slices.ContainsFunc(r.contacts, func(o *node) bool { return o != n }) {
		c.Alone = 10 * time.Second
	}
	return c
}

// step feeds a process, and does what it asks for.
func (n *node) step(in agent.Input) {
	if !n.up || n.paused {
		return
	}
	for _, a := range n.core.Step(time.Duration(n.clock.Read()), in) {
		n.perform(a)
	}
	n.again()
}

func (n *node) perform(a agent.Act) {
	r := n.r
	switch a := a.(type) {
	case agent.Connect:
		if to := r.byName[a.Name]; n.end(to) == nil && n.dials[to] == 0 {
			r.dial(n, to)
		}
	case agent.Disconnect:
		to := r.byName[a.Name]
		delete(n.dials, to)
		if e := n.end(to); e != nil {
			r.hangUp(n, e)
		}
	case agent.Send:
		r.send(n, a)
	case agent.Tell:
		n.tells(a.Event)
	}
}

// tells notes what a process tells its user.
func (n *node) tells(e agent.Event) {
	r := n.r
	switch e := e.(type) {
	case agent.Leader:
		r.suggested(n, gossip.Suggestion{Leader: e.Leader.Subject, Reign: e.Reign, Self: e.Self})
	case agent.SteppedDown:
		r.Stats["stepped_down"]++
		r.tell(n, "steps down from reign %d, since %v, and stands back for %.0f rounds", e.Reign, e.Why, rounds(n.clock.For(e.For)))
	case agent.Refused:
		if strings.HasPrefix(e.Reason, "overlay-") {
			r.Stats["overlay_refused"]++
			r.Check(e.Reason != "overlay-malformed", WellFormed, "%s cannot read what %s sends: %v", n.name, e.From, e.Why)
		} else {
			r.Stats["refused"]++
			r.refusals[e.Why] = append(r.refusals[e.Why], n)
		}
		r.w.Note(n.name, e.Reason, int64(len(e.From)))
	case agent.Twin:
		r.Stats["twins"]++
	case agent.News:
		r.heard(n, e)
	}
}

func rounds(d time.Duration) float64 { return float64(d) / float64(round) }

// status is what the process knows.
func (n *node) status() agent.Status {
	return n.core.Status(time.Duration(n.clock.Read()), time.Time{})
}
