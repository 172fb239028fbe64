package agent

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/gossip/spray"
	"github.com/conchhq/conch/gossip/wire"
	"github.com/conchhq/conch/transport"
)

// Config configures an [Agent]. What has no default is required.
type Config struct {
	Transport  transport.Roamer   // its name is this node's; the agent opens the lines "gossip" and "spray" of it
	Address    string             // host:port at which other nodes reach this one, and which they pass on
	Self       wire.Subject       // the key with which Scheme signs
	Scheme     gossip.Scheme      // such as gossip.Pinned
	Peers      []Peer             // the nodes that the configuration names; electors are among them
	Contacts   []string           // of Peers, to join by (default: all); with none the node waits for others
	Namespaces []gossip.Namespace // the same at every node of the overlay
	Round      time.Duration      // the unit of ages, the same at every node (default 100ms); how often candidates speak is Namespace.Every
	StateFile  string             // keeps the last incarnation; empty: the wall clock alone makes it
	Reserved   []string           // topics of this node, in its first namespace, that find room whatever else it tells

	Tell  func(Event)          // is told what happens, one event at a time, in one goroutine (default: nobody is)
	Clock func() time.Duration // counts suspended time and never goes back (default: the system's)
}

// Peer is a node that the configuration names.
type Peer struct {
	Name    string
	Address string       // host:port; empty if it only connects to others
	Subject wire.Subject // its key; zero if a CA proves its name. An elector has one
}

func (c Config) withDefaults() Config {
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
	return c
}

// Validate returns an error that lists every fault.
func (c Config) Validate() error {
	if c.Transport == nil {
		return errors.New("gossip/agent: a transport is required")
	}
	c = c.withDefaults()
	faults := []error{c.gossip(1).Validate(), c.overlay(1).Validate()}
	fault := func(is bool, text string, args ...any) {
		if is {
			faults = append(faults, fmt.Errorf("gossip/agent: "+text, args...))
		}
	}
	names, subjects := map[string]bool{}, map[wire.Subject]string{c.Self: c.Transport.Self()}
	for i, p := range c.Peers {
		fault(p.Name == "" || len(p.Name) > spray.MostName, "peer %d has a name of %d bytes: 1 to %d", i+1, len(p.Name), spray.MostName)
		fault(p.Name == c.Transport.Self(), "peer %q has the name of this node", p.Name)
		fault(names[p.Name], "peer %q is named twice", p.Name)
		names[p.Name] = true
		if p.Subject != (wire.Subject{}) {
			fault(subjects[p.Subject] != "", "peer %q has the key of %q", p.Name, subjects[p.Subject])
			subjects[p.Subject] = p.Name
		}
	}
	for _, name := range c.Contacts {
		fault(!names[name], "the contact %q is none of the peers", name)
	}
	for _, e := range electors(c.Self, c.Namespaces) {
		fault(subjects[e] == "", "the elector %v is none of the peers: electors connect to each other, and have to know where", e)
	}
	return errors.Join(faults...)
}

// electors returns the subjects to which a node, as one of them, keeps connections.
func electors(self wire.Subject, in []gossip.Namespace) (all []wire.Subject) {
	for _, n := range in {
		if slices.Contains(n.Electors, self) {
			all = append(all, n.Electors...)
		}
	}
	return slices.DeleteFunc(all, func(s wire.Subject) bool { return s == self })
}

// patience is how long a node that looks for its contacts does not name itself: one of them may be down, and another not.
const patience = 10 * time.Second

// settings returns those of the core of one start.
func (c Config) settings(incarnation uint64) Settings {
	return Settings{Gossip: c.gossip(incarnation), Overlay: c.overlay(incarnation), Peers: c.Peers, Seed: draw()}
}

// gossip returns the configuration of the machine that suggests.
func (c Config) gossip(incarnation uint64) gossip.Config {
	out := gossip.Config{
		Self: c.Self, Host: hostOf(c.Transport.Self(), c.Address), Incarnation: incarnation, Seed: draw(), Scheme: c.Scheme,
		Namespaces: c.Namespaces, Round: c.Round, Reserved: c.Reserved,
	}
	if len(c.Contacts) > 0 {
		out.Alone = patience
	}
	return out
}

// overlay returns the configuration of the machine that connects.
func (c Config) overlay(incarnation uint64) spray.Config {
	out := spray.Config{
		Self: spray.Peer{Name: c.Transport.Self(), Address: c.Address}, Incarnation: incarnation, Seed: draw(),
	}
	for _, p := range c.Peers {
		if slices.Contains(c.Contacts, p.Name) {
			out.Contacts = append(out.Contacts, spray.Peer{Name: p.Name, Address: p.Address})
		}
	}
	return out
}
