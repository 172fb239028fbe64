package crowd

import (
	"crypto/ed25519"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/world"
	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/gossip/spray"
	"github.com/conchhq/conch/gossip/wire"
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
	s       *spray.Machine
	m       *gossip.Machine  // nil: the crowd has not begun
	passed  map[word]bool    // heartbeats of others that it has passed on in this life
	ends    []*end           // of its connections, by index
	dials   map[*node]uint64 // that are under way
	asked   map[*node]bool   // for which connections its overlay waits
	tries   map[*node]try    // of an elector, to connect to others
	door    door
	soon    int      // ticks of its overlay that come sooner, if it finds nobody
	waits   []func() // what has happened while it was frozen
	alarm   alarm

	up, paused, deaf, mute, serves bool
	dark                           bool          // it died with its host, so that nobody says so
	pauses                         int           // how often it was frozen
	frozen                         time.Duration // since when
	undated                        time.Duration // until then it does not read what has waited
	side                           int           // nodes of different sides do not hear each other
	troubled                       time.Duration // the last instant at which something was wrong with it
	believes                       gossip.Suggestion
	out, back                      time.Duration // when it last left service, and came back
	led                            time.Duration // when it began to lead
	senior                         uint64
	bytes                          int64
	says                           func(wire.Said) // sees what it sends; it may be nil
	words                          []time.Duration // of an elector: see tells
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

// begin has a process suggest a leader. It knows nothing of its last life.
func (n *node) begin() {
	r := n.r
	n.believes = gossip.Suggestion{}
	n.m, n.passed = gossip.New(r.machineOf(n)), map[word]bool{}
	r.serves(n, true)
	n.step(gossip.Seniority{Namespace: namespace, Value: n.senior})
	n.linked()
	n.ticks(n.lives)
}

func (r *run) machineOf(n *node) gossip.Config {
	ns := gossip.Namespace{Name: namespace, Policy: r.cfg.Policy, Diameter: r.cfg.Diameter, Every: 1, Paper: r.cfg.Paper}
	for _, e := range r.nodes {
		if e.elector {
			ns.Electors = append(ns.Electors, e.subject)
		}
	}
	c := gossip.Config{
		Self: n.subject, Host: n.name, Incarnation: uint64(n.lives), Seed: r.w.Draw(), Scheme: scheme{n.subject, r.cfg.Break == ownSignature},
		Namespaces: []gossip.Namespace{ns}, Round: round,
	}
	if r.second == round { // a round of the simulation is one that an agent's has ten of
		c.Round, c.Namespaces[0].Every = round/10, 10
	}
	if slices.ContainsFunc(r.contacts, func(o *node) bool { return o != n }) {
		c.Alone = 10 * r.second
	}
	return c
}

func (n *node) step(in gossip.Input) {
	if !n.up || n.paused || n.m == nil {
		return
	}
	for _, a := range n.m.Step(time.Duration(n.clock.Read()), in) {
		n.perform(a)
	}
}

func (n *node) perform(a gossip.Action) {
	switch a := a.(type) {
	case gossip.Send:
		for i := range a.Parcel.Said {
			if n.says != nil {
				n.says(a.Parcel.Said[i])
			}
		}
		n.r.send(n, a)
	case gossip.Suggested:
		n.r.suggested(n, a.Suggestion)
	case gossip.SteppedDown:
		n.r.stats["stepped_down"]++
		n.r.tell(n, "steps down from reign %d, since %v, and stands back for %.0f rounds", a.Reign, a.Why, rounds(a.For))
	case gossip.Refused:
		n.r.stats["refused"]++
		n.r.refusals[a.Why] = append(n.r.refusals[a.Why], n)
		n.r.w.Note(n.name, "refused", int64(len(a.From)))
	case gossip.Twin:
		n.r.stats["twins"]++
	case gossip.Heard:
		n.r.heard(n, a)
	}
}

func rounds(d time.Duration) float64 { return float64(d) / float64(round) }

func (n *node) String() string { return fmt.Sprint(n.name) }
