package mtls

import (
	"fmt"
	"sync"
	"time"

	"github.com/conchhq/conch/internal/step"
	"github.com/conchhq/conch/transport"
)

// line is one subject of an endpoint.
type line struct {
	endpoint *Endpoint
	subject  string
	out      chan transport.Envelope
	ready    step.Wake     // has a token while something waits
	done     chan struct{} // closed with the line
	pumping  sync.WaitGroup

	mu      sync.Mutex
	inbox   inbox
	dropped uint64
	closed  bool
}

func newLine(e *Endpoint, subject string) *line {
	l := &line{
		endpoint: e, subject: subject, ready: step.NewWake(), done: make(chan struct{}),
		out: make(chan transport.Envelope, 16), // so that the reader and the pump need not meet for each message
	}
	if e.cfg.Roam {
		l.inbox.most = inboxBytes
	}
	l.pumping.Go(l.pump)
	return l
}

// pump hands what waits to the reader.
func (l *line) pump() {
	for {
		l.mu.Lock()
		from, body, ok := l.inbox.take()
		l.mu.Unlock()
		if !ok {
			select {
			case <-l.ready:
				continue
			case <-l.done:
				return
			}
		}
		select {
		case l.out <- transport.Envelope{From: from, Subject: l.subject, Body: body}:
		case <-l.done:
			return
		}
	}
}

// yawn is how long a peer's stream is held up for a reader that is behind, before its messages are dropped, and over a longer time a
// quarter of that time. So a burst is slowed down instead, and what a reader that sleeps or is slow costs the peer's other subjects is
// less than what their machines wait for a beat.
const yawn = 100 * time.Millisecond

// receive takes a message from a peer. It is false if it was dropped.
func (l *line) receive(from string, body []byte) bool {
	began := time.Now()
	taken, room, most := l.put(from, body, began)
	if taken || room == nil {
		return taken
	}
	late := time.NewTimer(most)
	defer late.Stop()
	defer l.held(from, began)
	for over := false; ; {
		select {
		case <-room:
		case <-l.done:
			return false
		case <-late.C:
			over = true // but something may have been taken at the same moment
		}
		if taken, room, _ = l.put(from, body, began); taken || room == nil {
			return taken
		}
		if over {
			l.sleeps(from)
			return false
		}
	}
}

// put adds a message. If it has no room it returns what to wait for, and for how long, or nil if waiting is in vain.
func (l *line) put(from string, body []byte, now time.Time) (taken bool, room <-chan struct{}, most time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return false, nil, 0
	case l.inbox.put(from, body):
		l.ready.Ring()
		return true, nil, 0
	}
	b := l.inbox.boxes[from] // nil: that of all is full
	if b != nil && !b.asleep {
		most = b.holds(now)
	}
	if most <= 0 {
		l.dropped++
		return false, nil, 0
	}
	return false, b.room, most
}

// held counts for how long a peer's stream was held up.
func (l *line) held(from string, since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.inbox.boxes[from]; b != nil {
		b.patience -= time.Since(since)
	}
}

// sleeps drops a message whose reader was waited for, and the next ones at once, until the reader takes something.
func (l *line) sleeps(from string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropped++
	if b := l.inbox.boxes[from]; b != nil {
		b.asleep = true
	}
}

// Send implements transport.Line.
func (l *line) Send(to string, body []byte) error {
	select {
	case <-l.done:
		return transport.ErrClosed
	default:
	}
	if len(body) > transport.MostBody {
		return fmt.Errorf("%w: %d bytes, and %d are allowed", transport.ErrBody, len(body), transport.MostBody)
	}
	p, q := l.endpoint.to(to)
	if p == nil {
		return fmt.Errorf("%w: %q", transport.ErrPeer, to)
	}
	if err := q.push(l.subject, body, time.Now()); err != nil {
		p.count(func(s *PeerStats) { s.Full++ })
		return fmt.Errorf("%w: %q", err, to)
	}
	return nil
}

// Inbox implements transport.Line.
func (l *line) Inbox() <-chan transport.Envelope { return l.out }

// Dropped implements transport.Line.
func (l *line) Dropped() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dropped
}

// Close implements transport.Line.
func (l *line) Close() {
	if l.end() {
		l.endpoint.forget(l)
	}
}

// end closes the line, and is false if it was closed.
func (l *line) end() bool {
	l.mu.Lock()
	was := l.closed
	if l.closed = true; !was {
		close(l.done)
	}
	l.mu.Unlock()
	l.pumping.Wait()
	return !was
}
