package webhook

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// Act has something written as an act of a gate: it calls write, with a context that ends when the gate's answer does, and returns its error; or the gate's,
// and does not call it.
type Act func(write func(answer context.Context) error) error

// Guard returns a transport as t each of whose connections' writes is an act, counted until its last byte has left: a handover waits for it. What outlives an
// answer of the gate is cut off, and goes on if the gate says so again. A refusal of the gate ends the request. The library has a request written by a
// goroutine of its own, and says that it is written before the last of it leaves: so nothing else knows when it does. The connections are those of the new
// transport alone.
func Guard(t *http.Transport, act Act) *http.Transport {
	type dial func(ctx context.Context, network, address string) (net.Conn, error)
	guard := func(d dial) dial {
		return func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := d(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &acting{Conn: c, act: act}, nil
		}
	}
	t = t.Clone()
	t.Dial, t.DialTLS = nil, nil //nolint:staticcheck // what nobody guards
	if t.DialContext == nil {
		t.DialContext = new(net.Dialer).DialContext
	}
	t.DialContext = guard(t.DialContext)
	if t.DialTLSContext != nil {
		t.DialTLSContext = guard(t.DialTLSContext)
	}
	return t
}

// acting is a connection each of whose writes is an act.
type acting struct {
	net.Conn

	act Act

	mu       sync.Mutex
	deadline time.Time // for writes, as its owner wants it
	isCut    bool      // the connection's is in the past meanwhile
}

// Write implements net.Conn.
func (a *acting) Write(b []byte) (n int, err error) {
	for {
		var isCut bool
		err = a.act(func(answer context.Context) error {
			written, wasCut, err := a.writeWithin(answer, b[n:])
			n, isCut = n+written, wasCut
			return err
		})
		if !isCut || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
	}
}

// writeWithin writes until ctx ends, and says whether that has ended it.
func (a *acting) writeWithin(ctx context.Context, b []byte) (n int, isCut bool, err error) {
	over := make(chan struct{})
	end := context.AfterFunc(ctx, func() {
		defer close(over)
		a.setCut(true)
	})
	if n, err = a.Conn.Write(b); end() {
		return n, false, err
	}
	<-over
	a.setCut(false)
	return n, true, err
}

// setCut cuts off the write under way, or lets others go on.
func (a *acting) setCut(is bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := a.deadline
	if a.isCut = is; is {
		at = time.Unix(1, 0)
	}
	_ = a.Conn.SetWriteDeadline(at)
}

// SetDeadline implements net.Conn.
func (a *acting) SetDeadline(t time.Time) error {
	return errors.Join(a.SetReadDeadline(t), a.SetWriteDeadline(t))
}

// SetWriteDeadline implements net.Conn.
func (a *acting) SetWriteDeadline(t time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.deadline = t; a.isCut {
		return nil
	}
	return a.Conn.SetWriteDeadline(t)
}
