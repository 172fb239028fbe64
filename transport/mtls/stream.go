package mtls

import (
	"context"
	"time"
)

// stream is one side of a stream of packets.
type stream interface {
	Send(packet any) error
	Receive(packet any) error
}

// pump sends what waits for a peer until the connection ends. When the peer is left it sends the rest, and returns.
func (e *Endpoint) pump(ctx context.Context, p *peer, q *queue, to stream, left <-chan struct{}) {
	q.ready.Ring()
	var packet []byte // made when it is needed: many peers have little to hear
	for last := false; ; {
		select {
		case <-q.ready:
		case <-left:
			left, last = nil, true
		case <-ctx.Done():
			return
		}
		if !last && p.greeting() && to.Send(&outgoing{e.hello()}) != nil {
			return
		}
		var frames int
		if packet, frames = q.pop(append(packet[:0], kindBatch), time.Now()); frames == 0 {
			if last {
				return
			}
			continue
		}
		if to.Send(&outgoing{packet}) != nil {
			return
		}
		bytes := len(packet)
		p.count(func(s *PeerStats) { s.Sent += uint64(frames); s.SentBytes += uint64(bytes) })
		if cap(packet) > 4*fullBatch {
			packet = nil
		}
		if last {
			q.ready.Ring() // there may be more
		}
	}
}

// hear delivers what a peer sends, no faster than it may, until the connection ends. It returns why that came.
func (e *Endpoint) hear(ctx context.Context, c *conn, from stream) error {
	var in incoming
	for {
		if err := from.Receive(&in); err != nil {
			return whyEnded(c.peer.name, err)
		}
		frames, err := e.take(c, in.packet)
		if err != nil {
			return err
		}
		if wait := c.peer.spend(len(in.packet) + frameCost*(frames+1)); wait > 0 {
			late := time.NewTimer(wait)
			select {
			case <-late.C:
			case <-ctx.Done():
				late.Stop()
				return ctx.Err()
			}
		}
	}
}

// take delivers a packet.
func (e *Endpoint) take(c *conn, packet []byte) (frames int, err error) {
	p := c.peer
	if c.cut.Load() {
		return 0, refuse(p.name, UnknownKey, "it was removed a moment ago")
	}
	if c.parted.Load() {
		return 0, nil
	}
	if len(packet) == 0 {
		return 0, refuse(p.name, Malformed, "an empty packet")
	}
	switch packet[0] {
	case kindHello:
		h, err := introduced(p.name, packet)
		if err == nil {
			p.heard(c, h)
		}
		return 0, err
	case kindBatch:
	default:
		return 0, refuse(p.name, Malformed, "a packet of kind %d", packet[0])
	}
	var dropped, unread int
	err = readBatch(packet[1:], func(subject, body []byte) {
		frames++
		e.mu.RLock()
		l := e.lines[string(subject)]
		e.mu.RUnlock()
		if l == nil {
			unread++
		} else if !l.receive(p.name, body) {
			dropped++
		}
	})
	p.count(func(s *PeerStats) {
		s.Received += uint64(frames)
		s.ReceivedBytes += uint64(len(packet))
		s.Dropped += uint64(dropped)
		s.Unread += uint64(unread)
	})
	if err != nil {
		return frames, &RefusalError{Peer: p.name, Reason: Malformed, Err: err}
	}
	return frames, nil
}
