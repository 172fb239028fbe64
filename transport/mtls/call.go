package mtls

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/conchhq/conch/transport"
)

// call is a Connect that is not answered yet, with Config.Roam.
//
// Two nodes may call each other at once. A node that is called holds back its own hello until the other one has confirmed
// its call. If both hellos are on their way the call of the smaller name counts: its node lets the other one wait until its
// own call is answered, and the other one answers. A call is called off when the other one is confirmed, and not before: so
// whatever fails, one of the two is left.
type call struct {
	peer    *peer
	address string
	cancel  context.CancelFunc // nil before Run
	greeted bool               // its hello is on its way
	done    chan struct{}      // closed when it is answered, has failed or was called off
}

// Connect implements transport.Roamer. Without Config.Roam it does nothing. Before Run the call waits.
func (e *Endpoint) Connect(name, address string) {
	if e.place(name, address) {
		return
	}
	e.links.Add(transport.Link{Peer: name}, true)
	if e.guests.seldom.due(UnknownKey) {
		e.cfg.Log.Warn("nobody who could be called has that name", "name", name)
	}
}

// place makes a call. It is false if nobody has that name.
func (e *Endpoint) place(name, address string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.cfg.Roam || e.over || e.calls[name] != nil {
		return true
	}
	if s := e.sessions[name]; s != nil && s.up {
		return true
	}
	p := e.peers[name]
	if p == nil {
		if e.roster.guests == nil || name == e.cfg.Self || !validName().MatchString(name) {
			return false
		}
		p = e.addGuest(name)
	}
	if address == "" {
		p.mu.Lock()
		address = p.address
		p.mu.Unlock()
	}
	c := &call{peer: p, address: address, done: make(chan struct{})}
	p.uses++
	e.calls[name] = c
	if e.running != nil {
		e.ring(c)
	}
	return true
}

// ring begins a call. The endpoint's mutex is held.
func (e *Endpoint) ring(c *call) {
	ctx, cancel := context.WithCancel(e.running)
	c.cancel = cancel
	e.calling.Go(func() {
		defer cancel()
		err := e.speak(ctx, c)
		blame := ctx.Err() == nil // and not the one who has called it off
		failed := e.unanswered(c)
		r := e.explain(refusalOf(err, c.peer.name, Ended))
		if errors.Is(err, errTwin) {
			e.twins.Add(1)
		}
		switch {
		case blame && failed:
			c.peer.lost(r)
		case blame && err != nil && r.Reason != Ended:
			c.peer.refused(r)
		}
		e.letGo(c.peer)
	})
}

// unanswered says Down for a call that has failed, unless the peer's own call may still be the answer. It is false if the
// call was answered or called off.
func (e *Endpoint) unanswered(c *call) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.calls[c.peer.name] != c {
		return false
	}
	e.callOff(c)
	if s := e.sessions[c.peer.name]; s != nil {
		s.asked = true
	} else if !e.over {
		e.links.Add(transport.Link{Peer: c.peer.name}, true)
	}
	return true
}

// callOff takes a call off the list. The endpoint's mutex is held.
func (e *Endpoint) callOff(c *call) {
	delete(e.calls, c.peer.name)
	close(c.done)
	if c.cancel == nil {
		e.release(c.peer)
		return
	}
	c.cancel()
}

// speak makes a call and, if it is answered, carries the messages of the connection. It returns why it has failed or ended.
func (e *Endpoint) speak(ctx context.Context, c *call) error {
	name := c.peer.name
	if c.address == "" {
		return refuse(name, Unreachable, "nobody has said where it listens")
	}
	link, err := e.dial(ctx, c.peer, c.address)
	if err != nil {
		return err
	}
	defer e.drop(link.tls)
	if !e.greet(c) {
		return nil
	}
	talk, free, err := dialogue(ctx, link.tls, e.cfg.Keepalive, true)
	defer free()
	if err != nil {
		return err
	}
	defer func() {
		shut(link.tls)
		_ = talk.CloseRequest()
		_ = talk.CloseResponse()
	}()
	late := time.AfterFunc(e.patience(), func() { shut(link.tls) })
	defer late.Stop()
	_ = c.peer.greeting()
	_ = talk.Send(&outgoing{e.hello()}) // what it answers says what went wrong
	var in incoming
	err = talk.Receive(&in)
	if !late.Stop() {
		return refuse(name, Silent, "it did not say hello within %v", e.patience())
	}
	if err != nil {
		return refusedUs(name, err)
	}
	h, err := introduced(name, in.packet)
	if err != nil {
		return err
	}
	s := e.answered(c, link, h)
	if s == nil {
		return nil
	}
	_ = talk.Send(&outgoing{confirmation}) // an error is of the connection, and shows there
	return e.run(ctx, s, talk, func() { _ = talk.CloseRequest() })
}

// confirmation is the packet by which a caller says that it has the answer: a batch of nothing.
var confirmation = []byte{kindBatch}

// patience is how long a call waits for its answer, and the other side keeps it waiting: until a connection that has
// broken unseen is noticed.
func (e *Endpoint) patience() time.Duration { return max(introduction, 2*e.cfg.Keepalive+time.Second) }

// greet notes that the hello of a call is on its way, as soon as the peer has no call of its own here. It is false if the
// call was called off.
func (e *Endpoint) greet(c *call) bool {
	for {
		e.mu.Lock()
		current, s := e.calls[c.peer.name] == c, e.sessions[c.peer.name]
		c.greeted = current && s == nil
		e.mu.Unlock()
		if !current || s == nil {
			return current
		}
		select {
		case <-s.done:
		case <-c.done:
			return false
		}
	}
}

// answered begins the session of a call. It is nil if that was called off.
func (e *Endpoint) answered(c *call, link *conn, h hello) *session {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.calls[c.peer.name] != c {
		return nil
	}
	if s := e.sessions[c.peer.name]; s != nil { // the peer has called this one off, since it has answered
		s.parted.Store(true) // what may still wait on it came before this connection, and must not be read after
		e.leave(s)
		shut(s.tls)
	}
	s := e.begin(link, h)
	s.asked = true
	delete(e.calls, c.peer.name)
	close(c.done)
	e.confirm(s)
	return s
}

// answer serves the call of a peer.
func (e *Endpoint) answer(ctx context.Context, c *conn, h hello, control *http.ResponseController, talk stream) error {
	e.mu.Lock()
	c.peer.newest = c
	e.mu.Unlock()
	late := time.NewTimer(e.patience() - sooner)
	defer late.Stop()
	for {
		s, busy, err := e.seat(ctx, c, h)
		if err != nil {
			return err
		}
		if s != nil {
			if err := e.confirmed(s, control, talk); err != nil {
				e.ended(s)
				return err
			}
			return e.run(ctx, s, talk, func() { _ = control.SetReadDeadline(time.Unix(1, 0)) })
		}
		select {
		case <-busy:
		case <-ctx.Done():
			return ctx.Err()
		case <-late.C:
			return e.stands(c)
		}
	}
}

// sooner is how much earlier a called node loses its patience than its caller, which so learns why.
const sooner = 500 * time.Millisecond

// stands returns why a call is refused that has waited in vain. The connection that stands lives, or its end would have
// been noticed, so there are two processes.
func (e *Endpoint) stands(c *conn) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.sessions[c.peer.name]
	if s == nil || s.conn == c {
		return refuse(c.peer.name, TooMany, "it is called already")
	}
	what := "key"
	if s.key != c.key {
		what = "name, with two keys"
	}
	return refuse(c.peer.name, Twin, "two hosts have its %s: one is connected, %v, and another calls, %v", what, s.tls.RemoteAddr(), c.tls.RemoteAddr())
}

// confirmed answers a call, and waits until the caller confirms that it has the answer.
func (e *Endpoint) confirmed(s *session, control *http.ResponseController, talk stream) error {
	_ = s.peer.greeting()
	late := time.Now().Add(e.patience()) // a caller that lives and takes no answer would keep its place, and a Connect to it wait, for ever
	if err := errors.Join(control.SetWriteDeadline(late), control.SetReadDeadline(late)); err != nil {
		return err
	}
	if err := talk.Send(&outgoing{e.hello()}); err != nil {
		return err
	}
	var in incoming
	if err := talk.Receive(&in); err != nil {
		return broken(err)
	}
	if !bytes.Equal(in.packet, confirmation) {
		return refuse(s.peer.name, Malformed, "it did not confirm its call")
	}
	if err := errors.Join(control.SetWriteDeadline(time.Time{}), control.SetReadDeadline(time.Time{})); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.confirm(s)
	return nil
}

// seat begins the session of a peer's call. If there is one already, or this node's own call comes first, it returns what
// to wait for: one that stands and has broken unseen is noticed soon, and a call that its caller has given up is gone then.
func (e *Endpoint) seat(ctx context.Context, c *conn, h hello) (s *session, busy <-chan struct{}, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := c.peer
	switch {
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case c.cut.Load() || e.peers[p.name] != p:
		return nil, nil, refuse(p.name, UnknownKey, "it was removed a moment ago")
	case c.used:
		return nil, nil, refuse(p.name, Malformed, "a second stream over one connection")
	case p.newest != c:
		return nil, nil, refuse(p.name, TooMany, "it has called again")
	}
	if s := e.sessions[p.name]; s != nil {
		return nil, s.done, nil
	}
	own := e.calls[p.name]
	if own != nil && own.greeted && e.cfg.Self < p.name {
		return nil, own.done, nil
	}
	return e.begin(c, h), nil, nil
}

// whyEnded tells an answer that refuses this node from what the peer must not send, and both from a connection that broke.
func whyEnded(peer string, err error) error {
	if connect.IsWireError(err) {
		return refusedUs(peer, err)
	}
	return broken(err)
}
