package mtls

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"connectrpc.com/connect"
)

// serve reads what a peer sends over a stream, until that ends.
func (e *Endpoint) serve(ctx context.Context, stream *connect.BidiStream[incoming, outgoing]) error {
	if a, _ := ctx.Value(awayKey{}).(*away); a != nil {
		return connect.NewError(connect.CodeUnavailable, a.why)
	}
	c, _ := ctx.Value(connKey{}).(*conn)
	control, _ := ctx.Value(controlKey{}).(*http.ResponseController)
	if c == nil || control == nil {
		return connect.NewError(connect.CodeInternal, nil)
	}
	e.hold(c.peer)
	defer e.letGo(c.peer)
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
	case Twin:
		code = connect.CodeAlreadyExists
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
		if e.cfg.Roam && !errors.Is(err, os.ErrDeadlineExceeded) {
			return broken(err) // a call that was called off
		}
		return refusalOf(broken(err), c.peer.name, Silent)
	}
	h, err := introduced(c.peer.name, in.packet)
	if err != nil {
		return err
	}
	if err := control.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	if e.cfg.Roam {
		return e.answer(ctx, c, h, control, stream)
	}
	if err := stream.Send(&outgoing{e.hello()}); err != nil { // a peer that does not read it holds up itself
		return err
	}
	e.current(c)
	c.peer.heard(c, h)
	defer c.peer.unheard(c)
	return e.hear(ctx, c, stream)
}

// broken blames the peer for what it sent, and not for a connection that ended, as that of a process that is killed does.
func broken(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(err.Error(), "incomplete envelope: ") { // the libraries flatten why
		return err
	}
	if code := connect.CodeOf(err); code == connect.CodeInvalidArgument || code == connect.CodeResourceExhausted || code == connect.CodeInternal {
		return &RefusalError{Reason: Malformed, Err: err}
	}
	return err
}
