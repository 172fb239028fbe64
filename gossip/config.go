package gossip

import (
	"cmp"
	"crypto"
	"errors"
	"slices"
	"time"

	"github.com/conchhq/conch/gossip/internal/core"
	"github.com/conchhq/conch/gossip/internal/hint"
	"github.com/conchhq/conch/gossip/internal/overlay"
	"github.com/conchhq/conch/gossip/internal/wire"
	"github.com/conchhq/conch/internal/faults"
	"github.com/conchhq/conch/transport"
)

// What a node may tell.
const (
	MostTopics = hint.MostTopics // 32: under how many topics it tells news at one time
	MostName   = wire.MostName   // 64: bytes of a namespace, a topic or a name
	MostBody   = wire.MostBody   // 1,024: bytes of a piece of news
)

// Config configures an [Agent]. What has no default is required.
type Config struct {
	Transport  transport.Roamer // its name is this node's; the agent opens the lines "gossip" and "spray" of it
	Address    string           // host:port at which other nodes reach this one, and which they pass on
	Key        crypto.Signer    // this node's, of Ed25519: that by which its transport proves who it is
	Peers      []Peer           // the nodes that the configuration names; electors are among them
	Contacts   []string         // of Peers, to join by (default: all); with none the node waits for others
	Namespaces []Namespace      // the same at every node of the overlay
	Round      time.Duration    // the unit of ages, the same at every node (default 100ms); how often candidates speak is Namespace.Every
	StateFile  string           // keeps the last incarnation; empty: the wall clock alone makes it
	Reserved   []string         // topics of this node, in its first namespace, that find room whatever else it tells

	Tell  func(Event)          // is told what happens, one event at a time, in one goroutine (default: nobody is)
	Clock func() time.Duration // counts suspended time and never goes back (default: the system's)

	self   Subject
	scheme hint.Scheme // of Key; tests have a cheaper one
}

// Peer is a node that the configuration names.
type Peer struct {
	Name    string
	Address string  // host:port; empty if it only connects to others
	Subject Subject // its key; zero if a CA proves its name. An elector has one
}

// Namespace is a group of subjects that share one leader.
type Namespace struct {
	Name     string
	Electors []Subject // who may lead; empty: everybody
	Diameter int       // of the overlay; a heartbeat is valid for 2 × Diameter beats (default 4)
	Every    int       // rounds between two beats of a candidate (default 1 with electors, else 10)
	Paper    *Paper    // the rounds of document 003, to compare them: no electors, no reigns. Nil: a leader takes a reign
}

// Paper has the parameters of document 003 (B1). The default of each is the document's.
type Paper struct {
	Diameter    int           // of the overlay; a vote is valid for 2 × Diameter rounds, and DeltaC (default 8)
	DeltaC      time.Duration // tolerance (default 50ms)
	DeltaE      time.Duration // from the beginning of a round until the vote leaves (default 100ms)
	DeltaD      time.Duration // until the view is updated; above DeltaE (default 200ms)
	DeltaR      time.Duration // of a round; longer ones are steadier and slower (B6; default 300ms)
	Tenure      time.Duration // for which a leader stays that can be reached (B4; default 0, as in the document)
	Hysteresis  int           // rounds in a row that another must win (B5; default 1, as in the document)
	RandomOnTie bool          // the document's: of three that differ one is picked at random. Else the order decides (B3)
}

// Subject is a node's key, as the others know it: the fingerprint of the public one, 32 bytes, by which package mtls knows it too:
// gossip.Subject(identity.Fingerprint()).
type Subject = wire.Subject

// SubjectOf returns the subject of a key. The error says that the key is of another kind than Ed25519.
func SubjectOf(key crypto.Signer) (Subject, error) {
	pinned, err := hint.NewPinned(key)
	if err != nil {
		return Subject{}, err
	}
	return pinned.Subject(), nil
}

func (n Namespace) forHint() hint.Namespace {
	out := hint.Namespace{Name: n.Name, Electors: n.Electors, Diameter: n.Diameter, Every: n.Every}
	if n.Paper != nil {
		out.Policy, out.Paper = hint.Paper, hint.PaperConfig(*n.Paper)
	}
	return out
}

// WithDefaults returns the namespace with all fields set.
func (n Namespace) WithDefaults() Namespace {
	full := n.forHint().WithDefaults()
	n.Diameter, n.Every = full.Diameter, full.Every
	if n.Paper != nil {
		n.Paper = new(Paper(full.Paper))
	}
	return n
}

// Validate returns an error that lists every fault.
func (n Namespace) Validate() error { return n.forHint().Validate() }

func (c Config) withDefaults() (Config, error) {
	c.Round = cmp.Or(c.Round, 100*time.Millisecond)
	if c.Contacts == nil {
		for _, p := range c.Peers {
			c.Contacts = append(c.Contacts, p.Name)
		}
	}
	if c.Tell == nil {
		c.Tell = func(Event) {}
	}
	if c.Clock == nil {
		c.Clock = systemClock()
	}
	if c.scheme != nil {
		return c, nil
	}
	pinned, err := hint.NewPinned(c.Key)
	if err != nil {
		return c, err
	}
	c.self, c.scheme = pinned.Subject(), pinned
	return c, nil
}

// Validate returns an error that lists every fault.
func (c Config) Validate() error {
	_, err := c.complete()
	return err
}

// complete returns the configuration with its defaults, or an error that lists every fault.
func (c Config) complete() (Config, error) {
	if c.Transport == nil {
		return c, errors.New("gossip: a transport is required")
	}
	if c.Key == nil && c.scheme == nil {
		return c, errors.New("gossip: this node's key is required")
	}
	c, err := c.withDefaults()
	if err != nil {
		return c, err
	}
	s := c.settings(1)
	f := faults.List{Of: "gossip: "}
	f.Join(s.Hint.Validate(), s.Overlay.Validate())
	names, subjects := map[string]bool{}, map[Subject]string{c.self: c.Transport.Self()}
	for i, p := range c.Peers {
		f.Add(p.Name == "" || len(p.Name) > overlay.MostName, "peer %d has a name of %d bytes: 1 to %d", i+1, len(p.Name), overlay.MostName)
		f.Add(p.Name == c.Transport.Self(), "peer %q has the name of this node", p.Name)
		f.Add(names[p.Name], "peer %q is named twice", p.Name)
		names[p.Name] = true
		if p.Subject != (Subject{}) {
			f.Add(subjects[p.Subject] != "", "peer %q has the key of %q", p.Name, subjects[p.Subject])
			subjects[p.Subject] = p.Name
		}
	}
	for _, name := range c.Contacts {
		f.Add(!names[name], "the contact %q is none of the peers", name)
	}
	for _, e := range core.Electors(c.self, s.Hint.Namespaces) {
		f.Add(subjects[e] == "", "the elector %v is none of the peers: electors connect to each other, and have to know where", e)
	}
	return c, f.All()
}

// patience is how long a node that looks for its contacts does not name itself: one of them may be down, and another not.
const patience = 10 * time.Second

// settings returns those of the core of one start.
func (c Config) settings(incarnation uint64) core.Settings {
	s := core.Settings{
		Hint: hint.Config{
			Self: c.self, Host: core.HostOf(c.Transport.Self(), c.Address), Incarnation: incarnation, Seed: draw(), Scheme: c.scheme,
			Round: c.Round, Reserved: c.Reserved,
		},
		Overlay: overlay.Config{Self: overlay.Peer{Name: c.Transport.Self(), Address: c.Address}, Incarnation: incarnation, Seed: draw()},
		Seed:    draw(),
	}
	for _, n := range c.Namespaces {
		s.Hint.Namespaces = append(s.Hint.Namespaces, n.forHint())
	}
	if len(c.Contacts) > 0 {
		s.Hint.Alone = patience
	}
	for _, p := range c.Peers {
		s.Peers = append(s.Peers, core.Peer(p))
		if slices.Contains(c.Contacts, p.Name) {
			s.Overlay.Contacts = append(s.Overlay.Contacts, overlay.Peer{Name: p.Name, Address: p.Address})
		}
	}
	return s
}
