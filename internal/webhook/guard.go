package webhook

import (
	"context"
	"net"
	"net/http"
)

// Guard returns a transport as t whose connections ask may before each write, and send nothing once that returns an error, which ends the request: the process
// may have stood still since the request began, also while it connected. The connections are those of the new transport alone.
func Guard(t *http.Transport, may func() error) *http.Transport {
	type dial func(ctx context.Context, network, address string) (net.Conn, error)
	guard := func(d dial) dial {
		return func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := d(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return guarded{c, may}, nil
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

// guarded is a connection that writes only while it may.
type guarded struct {
	net.Conn

	may func() error
}

// Write implements net.Conn.
func (g guarded) Write(b []byte) (int, error) {
	if err := g.may(); err != nil {
		return 0, err
	}
	return g.Conn.Write(b)
}
