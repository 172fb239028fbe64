package mtls

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/transport/internal/links"
)

// Endpoint is a node's place in a network of processes. It is safe for concurrent use.
type Endpoint struct {
	cfg      Config
	listener net.Listener
	handlers sync.WaitGroup
	calling  sync.WaitGroup
	now      func() time.Time // by which certificates are judged
	every    time.Duration    // see look

	reloading sync.Mutex // held by Reload, and before mu
	links     *links.Log // with Config.Roam, as all below that says so

	mu        sync.RWMutex
	latest    Config // cfg, or that of the last Reload
	stamp     string // of the files that it names
	self      Identity
	roster    *roster
	peers     map[string]*peer
	conns     map[*tls.Conn]*conn
	lines     map[string]*line
	claims    map[string]transport.Claims // of this node, by subject
	strangers strangers
	sessions  map[string]*session // with Roam: connections that stand
	leaving   map[*conn]bool      // with Roam: those that send their last words
	calls     map[string]*call    // with Roam: that are not answered yet
	guests    guests              // with Roam
	away      map[*tls.Conn]*away // with Roam
	running   context.Context     // of Run; nil before it
	shut      chan struct{}       // closed with the door
	over      bool

	twins atomic.Uint64 // see Stats
}

var (
	_ transport.Endpoint = (*Endpoint)(nil)
	_ transport.Claimer  = (*Endpoint)(nil)
	_ transport.Roamer   = (*Endpoint)(nil)
)

// strangers counts connections of nobody who is known.
type strangers struct {
	counts map[Reason]uint64
	named  map[Reason]uint64 // see Stats
	seldom *seldom
}

// New checks the configuration, reads its files and listens. Nothing is accepted or sent before Run.
func New(c Config) (*Endpoint, error) {
	c = c.withDefaults()
	if err := c.Validate(); err != nil {
		return nil, err
	}
	read := c.stamp()
	self, known, err := c.load()
	if err != nil {
		return nil, fmt.Errorf("mtls: %w", err)
	}
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("mtls: %w", err)
	}
	e := &Endpoint{
		cfg: c, latest: c, stamp: read, now: time.Now, every: lookEvery, listener: listener, self: self, roster: known, peers: map[string]*peer{}, conns: map[*tls.Conn]*conn{},
		lines: map[string]*line{}, claims: map[string]transport.Claims{}, strangers: strangers{counts: map[Reason]uint64{}, named: map[Reason]uint64{}, seldom: newSeldom()},
		links: links.New(), sessions: map[string]*session{}, leaving: map[*conn]bool{}, calls: map[string]*call{}, guests: newGuests(), away: map[*tls.Conn]*away{},
		shut: make(chan struct{}),
	}
	for _, p := range c.Peers {
		address, _ := p.address() // Validate has read it
		e.peers[p.Name] = newPeer(p.Name, address, c)
	}
	return e, nil
}

// Run connects the peers until the context ends; then it closes the lines and the listener. It returns nil then, and
// otherwise says why nothing can be accepted any more. It is called once. With Config.Roam it connects nobody by itself, and
// at its end lets those go first whose connection was ended a moment before.
func (e *Endpoint) Run(over context.Context) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(over))
	defer cancel()
	stop := context.AfterFunc(over, func() { e.CloseDoor(); e.lastWords(); cancel() })
	defer stop()
	e.mu.Lock()
	if e.running != nil {
		e.mu.Unlock()
		return errors.New("mtls: Run was called before")
	}
	e.running = ctx
	for _, p := range e.peers {
		e.start(p)
	}
	e.calling.Go(func() { e.keepLooking(ctx) })
	for _, c := range e.calls {
		e.ring(c)
	}
	e.mu.Unlock()
	err := e.accept(ctx)
	stopped := ctx.Err() != nil
	cancel()
	e.end()
	if stopped {
		return nil
	}
	return fmt.Errorf("mtls: %w", err)
}

// CloseDoor takes no more connections of others: their calls fail, as where nobody listens. Those that stand stay. So a node that is
// about to end closes its door first: a peer that came in after its goodbyes would take the end for a fault. It may be called before
// the context of Run ends, and again.
func (e *Endpoint) CloseDoor() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed() {
		close(e.shut)
		_ = e.listener.Close()
	}
}

// closed reports whether the door is closed.
func (e *Endpoint) closed() bool {
	select {
	case <-e.shut:
		return true
	default:
		return false
	}
}

// end closes the lines and waits for the senders.
func (e *Endpoint) end() {
	e.mu.Lock()
	e.over = true
	peers, lines := slices.Collect(maps.Values(e.peers)), slices.Collect(maps.Values(e.lines))
	clear(e.lines)
	e.mu.Unlock()
	for _, l := range lines {
		l.end()
	}
	for _, p := range peers {
		p.stop()
	}
	e.calling.Wait()
	e.handlers.Wait()
}

// Addr returns the address of the listener.
func (e *Endpoint) Addr() net.Addr { return e.listener.Addr() }

// Fingerprint returns the name of the key that the node shows.
func (e *Endpoint) Fingerprint() Fingerprint {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.self.fingerprint
}

// Self implements transport.Endpoint.
func (e *Endpoint) Self() string { return e.cfg.Self }

// Peers implements transport.Endpoint.
func (e *Endpoint) Peers() []string {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.cfg.Roam {
		return slices.DeleteFunc(slices.Sorted(maps.Keys(e.sessions)), func(name string) bool { return !e.sessions[name].up })
	}
	return slices.Sorted(maps.Keys(e.peers))
}

func (e *Endpoint) peer(name string) *peer {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.peers[name]
}

// to returns the peer to which a message can be sent, and what waits for it, or nil.
func (e *Endpoint) to(name string) (*peer, *queue) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if s := e.sessions[name]; s != nil && s.up {
		return s.peer, s.queue
	}
	if p := e.peers[name]; p != nil && !e.cfg.Roam {
		return p, p.queue
	}
	return nil, nil
}

// Open implements transport.Endpoint. A subject has 1 to 64 bytes.
func (e *Endpoint) Open(subject string) (transport.Line, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.over:
		return nil, transport.ErrClosed
	case subject == "" || len(subject) > mostName:
		return nil, fmt.Errorf("the subject %.80q has %d bytes, and 1 to %d are allowed", subject, len(subject), mostName)
	case e.lines[subject] != nil:
		return nil, fmt.Errorf("%w: %q", transport.ErrTaken, subject)
	}
	l := newLine(e, subject)
	e.lines[subject] = l
	return l, nil
}

// forget takes a line off the list.
func (e *Endpoint) forget(l *line) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lines[l.subject] == l {
		delete(e.lines, l.subject)
	}
}

// refused counts a connection that was refused, and logs it: for a peer once until something changes, for strangers of a
// kind once a minute.
func (e *Endpoint) refused(r *RefusalError, from net.Addr) {
	e.mu.Lock()
	p, counts := e.peers[r.Peer], e.strangers.counts
	if p != nil {
		counts = e.strangers.named
	}
	counts[r.Reason]++
	e.mu.Unlock()
	if p != nil {
		p.refused(r)
		return
	}
	if e.strangers.seldom.due(r.Reason) {
		e.cfg.Log.Warn("a stranger was refused", "from", from, "reason", r.Reason, "error", r.Err)
	}
}
