package mtls

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/transport"
)

// linger is how long a connection that was ended may take to send its last words.
const linger = time.Second

// session is a connection that stands, with Config.Roam: one for each peer. That of a peer's call is up when the peer has
// confirmed it. It may have called off the call meanwhile, and then there was nothing.
type session struct {
	*conn
	hello hello
	queue *queue
	up    bool
	asked bool          // a call of the user's has failed meanwhile, and has no other answer yet
	left  chan struct{} // closed by Disconnect
	done  chan struct{} // closed when it stands no more
}

// begin makes a connection the one that stands. The endpoint's mutex is held.
func (e *Endpoint) begin(c *conn, h hello) *session {
	c.used = true
	s := &session{
		conn: c, hello: h, queue: newQueue(e.latest.Queue),
		left: make(chan struct{}), done: make(chan struct{}),
	}
	e.sessions[c.peer.name] = s
	return s
}

// confirm tells the user of a session, if it still stands. The endpoint's mutex is held.
func (e *Endpoint) confirm(s *session) {
	p := s.peer
	if e.sessions[p.name] != s {
		return
	}
	if own := e.calls[p.name]; own != nil {
		s.asked = true
		e.callOff(own)
	}
	s.up = true
	p.mu.Lock()
	p.stats.Outdated += p.queue.expired(time.Now())
	p.heardBy, p.claims = s.conn, s.hello.claims
	p.here, p.there = "", ""
	p.mu.Unlock()
	p.queue = s.queue
	e.links.Add(transport.Link{Peer: p.name, Up: true, Key: s.key}, s.asked)
}

// run carries messages both ways until the session ends, and returns why. It calls finish when this node has sent its last
// words.
func (e *Endpoint) run(ctx context.Context, s *session, talk stream, finish func()) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	var pumping sync.WaitGroup
	pumping.Go(func() {
		e.pump(ctx, s.peer, s.queue, talk, s.left)
		finish()
	})
	err := e.hear(ctx, s.conn, talk)
	e.ended(s)
	end()
	late := time.AfterFunc(linger, func() { shut(s.tls) }) // a peer that does not read
	pumping.Wait()
	late.Stop()
	if s.parted.Load() {
		return nil // whatever the other side makes of it
	}
	return err
}

// ended notes that a session is over.
func (e *Endpoint) ended(s *session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sessions[s.peer.name] == s {
		e.leave(s)
		if (s.up || s.asked && e.calls[s.peer.name] == nil) && !e.over {
			e.links.Add(transport.Link{Peer: s.peer.name}, false)
		}
	}
}

// leave takes a session off the list.
func (e *Endpoint) leave(s *session) {
	delete(e.sessions, s.peer.name)
	close(s.done)
	s.peer.unheard(s.conn)
}

// Disconnect implements transport.Roamer.
func (e *Endpoint) Disconnect(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.calls[name]; c != nil {
		e.callOff(c)
	}
	switch s := e.sessions[name]; {
	case s == nil:
	case !s.up:
		s.parted.Store(true)
		e.leave(s)
		shut(s.tls)
	default:
		s.parted.Store(true)
		e.leave(s)
		if e.conns[s.tls] == s.conn { // not gone yet
			e.leaving[s.conn] = true
		}
		close(s.left)
		time.AfterFunc(linger, func() { shut(s.tls) })
	}
	e.links.Forget(name)
}

// lastWords waits for the sessions that were ended a moment ago: until their connections are gone, since the libraries still have in
// their buffers what was sent. The other side closes a connection when it has read all.
func (e *Endpoint) lastWords() {
	e.mu.RLock()
	all := slices.Collect(maps.Keys(e.leaving))
	e.mu.RUnlock()
	late := time.NewTimer(2 * linger)
	defer late.Stop()
	for _, c := range all {
		select {
		case <-c.gone:
		case <-late.C:
			return
		}
	}
}

// Changed implements transport.Roamer.
func (e *Endpoint) Changed() <-chan struct{} { return e.links.Changed() }

// Links implements transport.Roamer.
func (e *Endpoint) Links() []transport.Link { return e.links.Links() }
