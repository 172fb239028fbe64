package agent

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/gossip/wire"
)

// Status returns a copy of what is known at an instant of the core's clock, which people call wall.
func (c *Core) Status(now time.Duration, wall time.Time) Status {
	c.gossip.Pass(now)
	at := func(t time.Duration) time.Time { return wall.Add(t - now).Round(time.Millisecond) }
	hosts := c.hosts()
	s := Status{Self: c.node(c.set.Gossip.Self), Overlay: c.overlay.Snapshot(), Counts: c.Counts()}
	s.Self.Address = c.set.Overlay.Self.Address
	for i, g := range c.gossip.Snapshot() {
		n := Namespace{
			Namespace: g.Namespace, Policy: policyOf(c.set.Gossip.Namespaces[i].Policy), Leader: c.nodeBy(g.Leader, hosts), Leads: g.Self, Reign: g.Reign,
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
		for _, e := range c.set.Gossip.Namespaces[i].Electors {
			n.Electors = append(n.Electors, c.nodeBy(e, hosts))
		}
		for _, k := range g.Known {
			n.Known = append(n.Known, Candidate{Node: c.nodeBy(k.Subject, hosts), Reign: k.Reign, Seniority: k.Seniority, Leads: k.Leads, Age: k.Age})
		}
		s.Namespaces = append(s.Namespaces, n)
	}
	for _, name := range sortedNames(c.links) {
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

// Counts returns a copy of the counts, without those of what was sent and dropped.
func (c *Core) Counts() Counts {
	out := c.counts
	out.Refused = maps.Clone(c.counts.Refused)
	for why, n := range c.gossip.Refusals() {
		reason := gossipReasons[why]
		if by := uint64(n) - c.faults[reason]; by > 0 {
			out.Refused[reason] += by
		}
	}
	return out
}

func policyOf(name string) string {
	if name == gossip.Paper {
		return name
	}
	return gossip.Reign
}

// hosts returns what subjects say of themselves.
func (c *Core) hosts() map[wire.Subject]string {
	out := map[wire.Subject]string{}
	for _, g := range c.gossip.Snapshot() {
		for _, k := range g.Known {
			out[k.Subject] = k.Host
		}
	}
	return out
}

// node says who a subject is.
func (c *Core) node(s wire.Subject) Node { return c.nodeBy(s, nil) }

// nodeBy says who a subject is: by the configuration, else by the connection to it, else by its own word.
func (c *Core) nodeBy(s wire.Subject, hosts map[wire.Subject]string) Node {
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
func (c *Core) isAnothers(name string, s wire.Subject) bool {
	if name == c.set.Overlay.Self.Name || c.known[name].Subject != (wire.Subject{}) {
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
