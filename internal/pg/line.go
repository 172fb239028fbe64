package pg

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// LineError is an error of an open connection to the database, and a net.Error. pgx returns
// the system's error, which looks like one of any other connection or file.
type LineError struct {
	Err  error
	Last *pgconn.PgError // the server's last message before it closed the connection, or nil
}

func (e *LineError) Error() string {
	if e.Last != nil {
		return e.Err.Error() + ": " + e.Last.Error()
	}
	return e.Err.Error()
}

func (e *LineError) Unwrap() []error {
	if e.Last != nil {
		return []error{e.Err, e.Last}
	}
	return []error{e.Err}
}

// Timeout reports whether a deadline passed: pgx tells it from a broken connection by this.
func (e *LineError) Timeout() bool {
	var line net.Error
	return errors.As(e.Err, &line) && line.Timeout()
}

// Temporary returns false, so that TLS gives the connection up.
func (e *LineError) Temporary() bool { return false }

// line makes LineErrors of the errors of a connection. It lies below TLS, since pgx looks
// for a *tls.Conn above it.
type line struct{ net.Conn }

func (l line) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	return n, ofLine(err)
}

func (l line) Write(b []byte) (int, error) {
	n, err := l.Conn.Write(b)
	if errors.Is(err, syscall.EPIPE) && l.LocalAddr().Network() == "unix" {
		return n, &LineError{Err: err, Last: l.last()}
	}
	return n, ofLine(err)
}

// last reads why the server closed the connection. Over TCP the first write after that
// succeeds and pgx reads the reason; over a Unix socket it fails, and pgx would not.
func (l line) last() *pgconn.PgError {
	_ = l.SetReadDeadline(time.Now().Add(lastPatience)) // the message is there already, or never comes
	said := pgproto3.NewFrontend(l.Conn, io.Discard)
	for message, err := said.Receive(); err == nil; message, err = said.Receive() {
		if response, ok := message.(*pgproto3.ErrorResponse); ok {
			return pgconn.ErrorResponseToPgError(response)
		}
	}
	return nil
}

const lastPatience = 100 * time.Millisecond

func ofLine(err error) error {
	if err == nil {
		return nil
	}
	return &LineError{Err: err}
}

// marked returns a dialer whose connections return LineErrors. Errors of dialing itself need
// no mark: pgx makes a ConnectError of them.
func marked(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return line{conn}, nil
	}
}
