package core

import (
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/gossip/internal/hint"
	"github.com/conchhq/conch/gossip/internal/overlay"
	"github.com/conchhq/conch/gossip/internal/wire"
)

// Node is what a subject is called.
type Node struct {
	Subject wire.Subject // its key
	Name    string       // empty if it is not known
	Proven  bool         // else the name is the subject's own word
	Address string       // where the configuration has it, or where it says that it listens
}

// Names returns what each subject is called now.
func (c *Core) Names() func(wire.Subject) Node {
	hosts := c.hostsSaid()
	return func(s wire.Subject) Node { return c.nameBy(s, hosts) }
}

// hostsSaid returns what subjects say of themselves.
func (c *Core) hostsSaid() map[wire.Subject]string {
	out := map[wire.Subject]string{}
	for _, g := range c.hint.Snapshot() {
		for _, k := range g.Known {
			out[k.Subject] = k.Host
		}
	}
	return out
}

func (c *Core) nameOf(s wire.Subject) Node { return c.nameBy(s, nil) }

// nameBy names a subject: by the configuration, else by the connection to it, else by its own word.
func (c *Core) nameBy(s wire.Subject, hosts map[wire.Subject]string) Node {
	if s == (wire.Subject{}) {
		return Node{}
	}
	if name, is := c.named[s]; is {
		return Node{Subject: s, Name: name, Proven: true, Address: c.known[name].Address}
	}
	if hosts == nil {
		hosts = c.hostsSaid()
	}
	said, address, _ := strings.Cut(hosts[s], "@")
	for name, l := range c.links {
		if l.up && l.key == s {
			return Node{Subject: s, Name: name, Proven: true, Address: address}
		}
	}
	if c.isAnothersName(said, s) {
		said = ""
	}
	return Node{Subject: s, Name: said, Address: address}
}

// isAnothersName reports whether a name is known to be that of another subject.
func (c *Core) isAnothersName(name string, s wire.Subject) bool {
	if name == c.set.Overlay.Self.Name || c.known[name].Subject != (wire.Subject{}) {
		return true // else its subject would have been found by the configuration
	}
	l := c.links[name]
	return l != nil && l.up && l.key != (wire.Subject{}) && l.key != s
}

// HostOf is what a node says of itself in its heartbeats: its name, and where it listens if there is room for that. So
// two hosts that have one key by mistake can be told apart.
func HostOf(name, address string) string {
	if host := name + "@" + address; address != "" && len(host) <= wire.MostName {
		return host
	}
	return name
}

// Snapshot is what a core knows at an instant.
type Snapshot struct {
	Hints   []hint.Status // in the order of the configuration
	News    []hint.Item   // the youngest first, own ones too
	Overlay overlay.Status
	Links   []Link // by name
	Counts  Counts
}

// Link is a connection over which statements travel.
type Link struct {
	Node

	Arcs    int // of the overlay's view that lead there
	Elector bool
	Since   time.Duration
}

// Snapshot returns a copy of what is known at an instant of the core's clock.
func (c *Core) Snapshot(now time.Duration) Snapshot {
	c.hint.Pass(now)
	s := Snapshot{Hints: c.hint.Snapshot(), News: c.hint.News(), Overlay: c.overlay.Snapshot(), Counts: c.Counts()}
	for i := range s.News {
		s.News[i].Body = slices.Clone(s.News[i].Body)
	}
	for _, name := range sortedNames(c.links) {
		if l := c.links[name]; c.carriesStatements(name, l) {
			s.Links = append(s.Links, Link{
				Node: Node{Subject: c.subjectOf(name), Name: name, Proven: true, Address: c.known[name].Address},
				Arcs: c.overlay.Arcs(name), Elector: l.elector, Since: l.since,
			})
		}
	}
	return s
}
