package core

import (
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/gossip/internal/hint"
	"github.com/conchhq/conch/gossip/internal/overlay"
	"github.com/conchhq/conch/gossip/internal/wire"
	"github.com/conchhq/conch/transport"
)

// link is the connection with a peer, or what is to become one. The overlay and the electors share it: it is there as
// long as one of them needs it.
type link struct {
	up       bool
	dialling bool         // the transport was asked, and has not answered
	key      wire.Subject // that the peer has proven
	since    time.Duration
	overlay  use
	elector  bool // it is kept up whatever the overlay does
	pause    int  // of an elector: one less than the next wait has
	wait     int  // ticks of the overlay until an elector is dialled again
}

// use is what the overlay knows of a connection.
type use uint8

const (
	unused use = iota // nothing
	asked             // it waits for Up or Down
	told              // it is up
)

// mostPause is the pause of the longest wait, which is five ticks of the overlay.
const mostPause = 4

func (c *Core) linkTo(name string) *link {
	l := c.links[name]
	if l == nil {
		l = &link{}
		c.links[name] = l
	}
	return l
}

// takeArrivals takes what has become of connections, and what was said. An end comes after the last words on that connection: a goodbye that is
// read after the end would make a node that has left look like one that is lost, and is to be looked for.
func (c *Core) takeArrivals(in Arrived) {
	if len(in.Links) > 0 {
		c.happened, in.Messages = slices.Clone(in.Links), slices.Clone(in.Messages) // they are the caller's
	}
	for len(c.happened) > 0 {
		l := c.happened[0]
		if c.happened = c.happened[1:]; !l.Up {
			c.tellArcs() // of a connection that has come up before the one that ended
			from := func(m Message) bool { return m.From == l.Peer }
			c.hearThose(in.Messages, from)
			in.Messages = slices.DeleteFunc(in.Messages, from)
		}
		c.takeLink(l)
	}
	c.tellArcs()
	c.hearThose(in.Messages, func(Message) bool { return true })
	c.tellArcs()
}

// hearThose takes those messages that are chosen. Statements go first: after a goodbye none counts of that peer.
func (c *Core) hearThose(all []Message, are func(Message) bool) {
	for _, line := range [...]string{LineGossip, LineOverlay} {
		for _, m := range all {
			if m.Line == line && are(m) {
				c.hearMessage(m)
			}
		}
	}
}

// takeLink takes what has become of a connection.
func (c *Core) takeLink(in transport.Link) {
	l := c.linkTo(in.Peer)
	if !in.Up {
		l.up, l.dialling = false, false
		if l.overlay != unused {
			l.overlay = unused
			c.feedOverlay(overlay.Down{Peer: in.Peer})
		}
		if l.elector {
			l.wait, l.pause = l.pause+1, min(2*l.pause+1, mostPause)
			c.stale = true
		} else if l.overlay == unused && c.links[in.Peer] == l {
			delete(c.links, in.Peer)
		}
		return
	}
	if !l.up {
		l.since = c.now
	}
	l.up, l.dialling, l.key, l.pause, c.stale = true, false, in.Key, 0, true
	// The connection between two electors is the overlay's only if one of the two overlays asks for it. The other one
	// learns that from its first message.
	if l.overlay != told && (!l.elector || l.overlay == asked) {
		l.overlay = told
		c.feedOverlay(overlay.Up{Peer: in.Peer})
	}
}

// connectPeer is the overlay's wish for a connection.
func (c *Core) connectPeer(p overlay.Peer) {
	l := c.linkTo(p.Name)
	l.overlay = asked
	switch {
	case l.up:
		l.overlay = told
		c.pending = append(c.pending, overlay.Up{Peer: p.Name})
	case !l.dialling:
		c.dialPeer(p.Name, p.Address)
	}
}

// disconnectPeer says that the overlay does not need a connection any more. The electors may.
func (c *Core) disconnectPeer(name string) {
	l := c.linkTo(name)
	l.overlay = unused
	if !l.elector {
		delete(c.links, name)
		c.ask(Disconnect{Name: name})
		// What it has told before that is over: a connection that is up there stands no more, and its end is not told.
		c.happened = slices.DeleteFunc(c.happened, func(l transport.Link) bool { return l.Peer == name })
	}
}

// dialPeer asks the transport for a connection. Where a node listens is the configuration's to say, if it does; what others
// say of that is a guess, which the transport checks.
func (c *Core) dialPeer(name, address string) {
	c.linkTo(name).dialling = true
	if p, is := c.known[name]; is && p.Address != "" {
		address = p.Address
	} else if transport.Inward(address) && !transport.Inward(c.set.Overlay.Self.Address) {
		address = "" // a node may name any address: this one would be of this host, or of its link
	}
	c.ask(Connect{Name: name, Address: address})
}

// keepElectors dials those electors to which there is no connection.
func (c *Core) keepElectors() {
	for _, name := range sortedNames(c.links) {
		l := c.links[name]
		if !l.elector || l.up || l.dialling {
			continue
		}
		if l.wait--; l.wait <= 0 {
			c.dialPeer(name, "")
		}
	}
}

// tellArcs tells the other machine which connections it has, if these are others than before.
func (c *Core) tellArcs() {
	if !c.stale || !c.began {
		return
	}
	c.stale = false
	var all []hint.Peer
	for _, name := range sortedNames(c.links) {
		if l := c.links[name]; c.carriesStatements(name, l) {
			all = append(all, hint.Peer{Name: name, Subject: c.subjectOf(name), Since: l.since})
		}
	}
	if !slices.Equal(all, c.arcs) {
		c.arcs = all
		c.feedHint(hint.Arcs{Peers: slices.Clone(all)})
	}
}

// carriesStatements reports whether statements travel over a connection.
func (c *Core) carriesStatements(name string, l *link) bool {
	return l.up && (l.elector || c.neighbours[name])
}

// subjectOf returns the key of a peer: what it has proven or, where a transport proves names alone, what the
// configuration says of that name.
func (c *Core) subjectOf(name string) wire.Subject {
	if l := c.links[name]; l != nil && l.key != (wire.Subject{}) {
		return l.key
	}
	return c.known[name].Subject
}

// IsElector reports whether a peer is one of those that may lead somewhere.
func (c *Core) IsElector(peer string) bool {
	s := c.subjectOf(peer)
	return slices.ContainsFunc(c.set.Hint.Namespaces, func(n hint.Namespace) bool { return slices.Contains(n.Electors, s) })
}

func sortedNames(links map[string]*link) []string { return slices.Sorted(maps.Keys(links)) }
