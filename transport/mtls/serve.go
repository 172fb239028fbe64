package mtls

import (
	"context"
	"net/http"
	"time"

	"connectrpc.com/connect"
)

// serve reads what a peer sends over a stream, until that ends.
func (e *Endpoint) serve(ctx context.Context, stream *connect.BidiStream[incoming, outgoing]) error {
	c, _ := ctx.Value(connKey{}).(*conn)
	control, _ := ctx.Value(controlKey{}).(*http.ResponseController)
	if c == nil || control == nil {
		return connect.NewError(connect.CodeInternal, nil)
	}
	err := e.converse(ctx, c, control, stream.Conn())
	if err == nil {
		return nil
	}
	r := refusalOf(err, c.peer.name, Ended)
	code := connect.CodeInvalidArgument
	switch r.Reason {
	case Ended:
		return nil
	case OtherVersion:
		code = connect.CodeFailedPrecondition
	case OtherName:
		code = connect.CodePermissionDenied
	}
	c.peer.refused(r)
	return connect.NewError(code, r)
}

func (e *Endpoint) converse(ctx context.Context, c *conn, control *http.ResponseController, stream connect.StreamingHandlerConn) error {
	var in incoming
	if err := control.SetReadDeadline(time.Now().Add(introduction)); err != nil {
		return err
	}
	if err := stream.Receive(&in); err != nil {
		return refusalOf(broken(err), c.peer.name, Silent)
	}
	h, err := introduced(c.peer.name, in.packet)
	if err != nil {
		return err
	}
	if err := control.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	if err := stream.Send(&outgoing{e.hello()}); err != nil { // a peer that does not read it holds up itself
		return err
	}
	e.current(c)
	c.peer.heard(c, h)
	defer c.peer.unheard(c)
	for {
		if err := stream.Receive(&in); err != nil {
			return broken(err)
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

// broken blames the peer for what it sent, and not for a connection that ended.
func broken(err error) error {
	if code := connect.CodeOf(err); code == connect.CodeInvalidArgument || code == connect.CodeResourceExhausted || code == connect.CodeInternal {
		return &RefusalError{Reason: Malformed, Err: err}
	}
	return err
}

// take delivers a packet.
func (e *Endpoint) take(c *conn, packet []byte) (frames int, err error) {
	p := c.peer
	if c.cut.Load() {
		return 0, refuse(p.name, UnknownKey, "it was removed a moment ago")
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
