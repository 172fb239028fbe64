// Package memory is a network in one process. Its faults follow a seed: the same sends in the same order meet the same
// ones. Inside a synctest bubble its delays are of the bubble's time.
//
// Nodes that Join know each other all. Nodes that Roam are connected with nobody until one of two connects; the address of
// such a node is its name. The two kinds do not talk with each other.
package memory

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/transport"
)

// Faults are what the network does to messages.
type Faults struct {
	Loss   float64       // part of them that never arrives
	Double float64       // part of them that arrives twice
	Least  time.Duration // the shortest way
	Most   time.Duration // the longest way; messages overtake each other if it is longer
	Notice time.Duration // until both ends of a connection notice that its line was cut, and a call is given up that nobody hears
}

// inboxSize is how many messages wait for a reader.
const inboxSize = 1024

// Network connects endpoints. It is safe for concurrent use.
type Network struct {
	mu     sync.Mutex
	chance *rand.Rand
	faults Faults
	nodes  map[string]*Endpoint
	cut    map[way]uint64 // by the number of the cut
	cuts   uint64
}

// way is the direction from one node to another.
type way struct{ from, to string }

// New returns a network without nodes and faults.
func New(seed uint64) *Network {
	return &Network{chance: rand.New(rand.NewPCG(seed, 11)), nodes: map[string]*Endpoint{}, cut: map[way]uint64{}}
}

// SetFaults replaces the faults for what is sent from now on.
func (n *Network) SetFaults(f Faults) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.faults = f
}

// Cut cuts the way from one node to another; what is under way is lost too. Cut the way back as well for a whole line. A
// connection needs both ways: it ends if it is cut for Faults.Notice.
func (n *Network) Cut(from, to string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cutWay(way{from, to})
}

func (n *Network) cutWay(w way) {
	if n.cut[w] != 0 {
		return
	}
	n.cuts++
	n.cut[w] = n.cuts
	n.lose(w)
}

// Part cuts every way between nodes of different groups. A node that is in no group is on its own.
func (n *Network) Part(groups ...[]string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	group := map[string]int{}
	for i, names := range groups {
		for _, name := range names {
			group[name] = i + 1
		}
	}
	names := slices.Sorted(maps.Keys(n.nodes)) // in order, so that ends are noticed in the same one each time
	for _, a := range names {
		for _, b := range names {
			if a != b && (group[a] == 0 || group[a] != group[b]) {
				n.cutWay(way{a, b})
			}
		}
	}
}

// Heal undoes all cuts.
func (n *Network) Heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.cut)
}

// Join adds a node. If one has that name already it is replaced, as by a restart: its lines are closed, and what was on
// its way to it is lost.
func (n *Network) Join(name string) *Endpoint {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.add(name)
}

func (n *Network) add(name string) *Endpoint {
	e := &Endpoint{name: name, network: n, lines: map[string]*line{}, claims: map[string]transport.Claims{}}
	n.remove(name)
	n.nodes[name] = e
	return e
}

// Kill removes a node, as when its process dies: its lines are closed, what was on its way to it is lost, and those that
// are connected with it notice when the news has come over the line.
func (n *Network) Kill(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.remove(name)
}

func (n *Network) remove(name string) {
	old := n.nodes[name]
	if old == nil {
		return
	}
	delete(n.nodes, name)
	old.leave()
	if old.roamer != nil {
		old.roamer.leave()
	}
}

// carry decides what becomes of a message. The fate of each is drawn in any case, so that a cut changes no other's.
func (n *Network) carry(from *Endpoint, to string, e transport.Envelope) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	peer, over := n.nodes[to], (*connection)(nil)
	if from.roamer != nil {
		over = from.roamer.up[to]
		peer = over.end(to)
	}
	if peer == nil || (peer.roamer == nil) != (from.roamer == nil) {
		return fmt.Errorf("%w: %q", transport.ErrPeer, to)
	}
	arrives := func() bool {
		return n.cut[way{from.name, to}] == 0 && n.nodes[to] == peer && (over == nil || peer.roamer.up[from.name] == over)
	}
	lost, doubled := n.chance.Float64() < n.faults.Loss, n.chance.Float64() < n.faults.Double
	ways := []time.Duration{n.way(), n.way()}
	if lost || n.nodes[from.name] != from || !arrives() {
		return nil
	}
	if !doubled {
		ways = ways[:1]
	}
	for _, delay := range ways {
		if delay == 0 {
			peer.take(e)
			continue
		}
		time.AfterFunc(delay, func() {
			n.mu.Lock()
			defer n.mu.Unlock()
			if arrives() {
				peer.take(e)
			}
		})
	}
	return nil
}

func (n *Network) way() time.Duration {
	spread := n.chance.Int64N(int64(max(n.faults.Most-n.faults.Least, 0)) + 1)
	return n.faults.Least + time.Duration(spread)
}

// Endpoint is a node of the network.
type Endpoint struct {
	name    string
	network *Network
	roamer  *Roamer // nil if it knows all others

	mu     sync.Mutex
	lines  map[string]*line
	claims map[string]transport.Claims // by subject
	gone   bool
}

var (
	_ transport.Endpoint = (*Endpoint)(nil)
	_ transport.Claimer  = (*Endpoint)(nil)
)

// Self implements transport.Endpoint.
func (e *Endpoint) Self() string { return e.name }

// Peers implements transport.Endpoint.
func (e *Endpoint) Peers() []string {
	e.network.mu.Lock()
	defer e.network.mu.Unlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(e.network.nodes)), func(name string) bool { return name == e.name })
}

// Open implements transport.Endpoint.
func (e *Endpoint) Open(subject string) (transport.Line, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gone {
		return nil, transport.ErrClosed
	}
	if e.lines[subject] != nil {
		return nil, fmt.Errorf("%w: %q", transport.ErrTaken, subject)
	}
	l := &line{endpoint: e, subject: subject, inbox: make(chan transport.Envelope, inboxSize)}
	e.lines[subject] = l
	return l, nil
}

// Claim implements transport.Claimer.
func (e *Endpoint) Claim(subject string, claims transport.Claims) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.claims[subject] = claims.Clone()
	return nil
}

// Claimed implements transport.Claimer. Claims meet no faults.
func (e *Endpoint) Claimed(peer, subject string) (transport.Claims, bool) {
	e.network.mu.Lock()
	p := e.network.nodes[peer]
	e.network.mu.Unlock()
	if p == nil {
		return nil, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.claims[subject].Clone(), true
}

// leave closes all lines.
func (e *Endpoint) leave() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.gone = true
	for _, l := range e.lines {
		l.closed.Store(true)
	}
	clear(e.lines)
}

// take delivers a message, if somebody reads its subject.
func (e *Endpoint) take(m transport.Envelope) {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := e.lines[m.Subject]
	if l == nil {
		return
	}
	m.Body = bytes.Clone(m.Body) // a doubled one has two readers
	select {
	case l.inbox <- m:
	default:
		l.dropped.Add(1)
	}
}

// line is one subject of an endpoint.
type line struct {
	endpoint *Endpoint
	subject  string
	inbox    chan transport.Envelope
	dropped  atomic.Uint64
	closed   atomic.Bool
}

// Send implements transport.Line.
func (l *line) Send(to string, body []byte) error {
	switch {
	case l.closed.Load():
		return transport.ErrClosed
	case len(body) > transport.MostBody:
		return fmt.Errorf("%w: %d bytes, and %d are allowed", transport.ErrBody, len(body), transport.MostBody)
	}
	return l.endpoint.network.carry(l.endpoint, to, transport.Envelope{From: l.endpoint.name, Subject: l.subject, Body: bytes.Clone(body)})
}

// Inbox implements transport.Line.
func (l *line) Inbox() <-chan transport.Envelope { return l.inbox }

// Dropped implements transport.Line.
func (l *line) Dropped() uint64 { return l.dropped.Load() }

// Close implements transport.Line.
func (l *line) Close() {
	l.endpoint.mu.Lock()
	defer l.endpoint.mu.Unlock()
	if l.closed.CompareAndSwap(false, true) {
		delete(l.endpoint.lines, l.subject)
	}
}
