package memory

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/transport/internal/links"
)

// Roamer is a node that is connected with nobody until one of two connects. It is safe for concurrent use.
type Roamer struct {
	*Endpoint
	key [32]byte
	log *links.Log

	// Guarded by the network's mutex.
	up    map[string]*connection
	calls map[string]*call // that are not answered yet
}

var _ transport.Roamer = (*Roamer)(nil)

// connection is one that stands, or stood. An end that has noticed nothing has it in its map.
type connection struct{ a, b *Roamer }

// end returns the end of that name, or nil if there is no connection.
func (c *connection) end(name string) *Endpoint {
	switch {
	case c == nil:
		return nil
	case c.a.name == name:
		return c.a.Endpoint
	default:
		return c.b.Endpoint
	}
}

// call is a Connect on its way.
type call struct{ address string }

// Roam adds a node that is connected with nobody, and shows this key to those that it will be connected with. If one has
// that name already it is replaced, as by a restart.
func (n *Network) Roam(name string, key [32]byte) *Roamer {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := &Roamer{key: key, log: links.New(), up: map[string]*connection{}, calls: map[string]*call{}}
	r.Endpoint = n.add(name)
	r.roamer = r
	return r
}

// Peers implements transport.Endpoint.
func (r *Roamer) Peers() []string {
	r.network.mu.Lock()
	defer r.network.mu.Unlock()
	return slices.Sorted(maps.Keys(r.up))
}

// Changed implements transport.Roamer.
func (r *Roamer) Changed() <-chan struct{} { return r.log.Changed() }

// Links implements transport.Roamer.
func (r *Roamer) Links() []transport.Link { return r.log.Links() }

// Connect implements transport.Roamer.
func (r *Roamer) Connect(name, address string) {
	n := r.network
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.nodes[r.name] != r.Endpoint || r.up[name] != nil || r.calls[name] != nil {
		return
	}
	address = cmp.Or(address, name)
	c := &call{address: address}
	r.calls[name] = c
	n.after(n.way(), func() { r.ring(name, c) })
}

// ring is the moment in which a call would reach the other side.
func (r *Roamer) ring(name string, c *call) {
	n := r.network
	if r.calls[name] != c {
		return
	}
	if n.apart(r.name, c.address) {
		n.after(n.faults.Notice, func() {
			if n.apart(r.name, c.address) {
				r.fail(name, c)
			} else {
				r.ring(name, c)
			}
		})
		return
	}
	peer := n.nodes[c.address]
	if name == r.name || peer == nil || peer.name != name || peer.roamer == nil {
		r.fail(name, c)
		return
	}
	r.meet(peer.roamer)
}

// fail ends a call that came to nothing.
func (r *Roamer) fail(name string, c *call) {
	if r.calls[name] == c {
		delete(r.calls, name)
		r.log.Add(transport.Link{Peer: name}, true)
	}
}

// meet connects two nodes. The other one may not have noticed that an earlier connection has ended.
func (r *Roamer) meet(peer *Roamer) {
	c := &connection{r, peer}
	for _, end := range []struct{ at, to *Roamer }{{r, peer}, {peer, r}} {
		end.at.lost(end.to.name, end.at.up[end.to.name])
		_, asked := end.at.calls[end.to.name]
		delete(end.at.calls, end.to.name)
		end.at.up[end.to.name] = c
		end.at.log.Add(transport.Link{Peer: end.to.name, Up: true, Key: end.to.key}, asked)
	}
}

// lost notes that a connection has ended, if it is the one that stands.
func (r *Roamer) lost(peer string, c *connection) {
	if c != nil && r.up[peer] == c {
		delete(r.up, peer)
		r.log.Add(transport.Link{Peer: peer}, false)
	}
}

// Disconnect implements transport.Roamer.
func (r *Roamer) Disconnect(name string) {
	r.network.mu.Lock()
	defer r.network.mu.Unlock()
	r.log.Forget(name)
	delete(r.calls, name)
	r.hangUp(name)
}

// hangUp ends a connection. The other side hears of it after all that was sent before, or notices the silence.
func (r *Roamer) hangUp(name string) {
	c, n := r.up[name], r.network
	if c == nil {
		return
	}
	delete(r.up, name)
	delay := n.faults.Most
	if delay > 0 {
		delay++ // after a message that takes the longest way
	}
	if n.apart(r.name, name) {
		delay = n.faults.Notice
	}
	peer := c.end(name).roamer
	n.after(delay, func() { peer.lost(r.name, c) })
}

// leave ends all connections and calls of a node that is no more.
func (r *Roamer) leave() {
	clear(r.calls)
	for _, name := range slices.Sorted(maps.Keys(r.up)) {
		r.hangUp(name)
	}
}

// lose ends the connection that needs a way, if that stays cut until both ends notice.
func (n *Network) lose(w way) {
	from, to := n.nodes[w.from], n.nodes[w.to]
	if from == nil || to == nil || from.roamer == nil || to.roamer == nil {
		return
	}
	a, b, number := from.roamer, to.roamer, n.cut[w]
	seenByA, seenByB := a.up[w.to], b.up[w.from]
	n.after(n.faults.Notice, func() {
		if n.cut[w] == number {
			a.lost(w.to, seenByA)
			b.lost(w.from, seenByB)
		}
	})
}

// apart reports whether one of the ways between two nodes is cut.
func (n *Network) apart(a, b string) bool { return n.cut[way{a, b}] != 0 || n.cut[way{b, a}] != 0 }

// after does something later, with the network's mutex held.
func (n *Network) after(delay time.Duration, do func()) {
	if delay <= 0 {
		do()
		return
	}
	time.AfterFunc(delay, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		do()
	})
}
