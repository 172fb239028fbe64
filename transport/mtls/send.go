package mtls

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"syscall"
	"time"

	"connectrpc.com/connect"

	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/transport"
)

const (
	// introduction is how long two nodes have to prove who they are, and again to say hello.
	introduction = 5 * time.Second
	// lasting is how long a connection lives that clears the failures before it.
	lasting = 10 * time.Second
)

// keep keeps a connection to the peer until the context ends: it calls attempt, which returns why one has ended, again
// and again.
func (p *peer) keep(ctx context.Context, attempt func(context.Context) error) {
	for failures := 1; ; failures++ {
		began := time.Now()
		err := attempt(ctx)
		if ctx.Err() != nil {
			p.count(func(s *PeerStats) { s.Connected = false })
			return
		}
		p.lost(refusalOf(err, p.name, Ended))
		if time.Since(began) > lasting {
			failures = 1
		}
		await(ctx, jitter(firstPause), nil) // whatever kicks
		if await(ctx, jitter(pause.Doubled(firstPause, failures-1, mostPause))-firstPause, p.kick) {
			failures = 0
		}
	}
}

// await waits, and reports whether it was kicked before the time was over.
func await(ctx context.Context, d time.Duration, kick <-chan struct{}) (kicked bool) {
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case <-late.C:
	case <-kick:
		return true
	case <-ctx.Done():
	}
	return false
}

// attempt connects to the peer and sends until the connection ends.
func (e *Endpoint) attempt(ctx context.Context, p *peer) error {
	p.mu.Lock()
	address := p.address
	p.mu.Unlock()
	c, err := e.dial(ctx, p, address)
	if err != nil {
		return err
	}
	link := c.tls
	defer e.drop(link)
	ctx, end := context.WithCancelCause(ctx)
	stream, free, err := over(ctx, link, e.cfg.Keepalive)
	defer free()
	if err != nil {
		end(nil)
		return err
	}

	greeted, listened := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(listened)
		end(e.listen(p, stream, greeted))
	}()
	defer func() {
		end(nil)
		shut(link)
		<-listened
		_ = stream.CloseRequest()
		_ = stream.CloseResponse()
	}()
	_ = p.greeting()
	if err := stream.Send(&outgoing{e.hello()}); err == nil { // otherwise the listener knows why
		if !await(ctx, introduction, greeted) && ctx.Err() == nil {
			return refuse(p.name, Silent, "it did not say hello within %v", introduction)
		}
		e.pump(ctx, p, p.queue, stream, nil)
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(introduction):
		return refuse(p.name, Ended, "the connection took no more, and did not end")
	}
}

// listen reads the peer's hello, and then waits for the end of the connection. It returns why that came.
func (e *Endpoint) listen(p *peer, stream connect.StreamingClientConn, greeted chan<- struct{}) error {
	var in incoming
	if err := stream.Receive(&in); err != nil {
		return refusedUs(p.name, err)
	}
	h, err := introduced(p.name, in.packet)
	if err != nil {
		return err
	}
	p.reached(h)
	close(greeted)
	if err := stream.Receive(&in); err != nil {
		return refusedUs(p.name, err)
	}
	return refuse(p.name, Malformed, "it answered with more than its hello")
}

// introduced reads a hello and compares it with whom the handshake has proven.
func introduced(proven string, packet []byte) (hello, error) {
	if len(packet) == 0 || packet[0] != kindHello {
		return hello{}, refuse(proven, Malformed, "it did not begin with a hello")
	}
	h, err := readHello(packet[1:])
	switch {
	case err != nil:
		return hello{}, &RefusalError{Peer: proven, Reason: Malformed, Err: err}
	case h.version != version:
		return hello{}, refuse(proven, OtherVersion, "it speaks version %d of the protocol, and this node version %d", h.version, version)
	case h.from != proven:
		return hello{}, refuse(proven, OtherName, "it calls itself %.80q", h.from)
	}
	return h, nil
}

// dial connects and proves both sides to each other.
func (e *Endpoint) dial(ctx context.Context, p *peer, address string) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, introduction)
	defer cancel()
	e.mu.RLock()
	self, known, source, outward := e.self, e.roster, net.ParseIP(e.latest.Source), e.latest.Outward
	e.mu.RUnlock()
	var dialer net.Dialer
	if source != nil {
		dialer.LocalAddr = &net.TCPAddr{IP: source}
	}
	p.mu.Lock()
	foreign := outward && address != p.address
	p.mu.Unlock()
	if foreign {
		dialer.Control = refuseInward
	}
	raw, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, &RefusalError{Peer: p.name, Reason: Unreachable, Err: err}
	}
	var until time.Time
	link := tls.Client(raw, &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"}, Certificates: []tls.Certificate{self.certificate},
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection does it: a peer is named by its key, or by a name that is no host's
		VerifyConnection: func(s tls.ConnectionState) (err error) {
			until, err = known.is(p.name, s.PeerCertificates, e.now())
			return err
		},
	})
	if err = link.HandshakeContext(ctx); err == nil && link.ConnectionState().NegotiatedProtocol != "h2" {
		err = refuse(p.name, OldTLS, "it does not speak HTTP/2")
	}
	c := &conn{peer: p, tls: link, verified: known, until: until}
	if err == nil {
		err = e.admit(c, p.name)
	}
	if err != nil {
		_ = raw.Close()
		return nil, handshakeRefusal(p.name, err)
	}
	return c, nil
}

// refuseInward is asked with each address to which a name leads, before it is dialled.
func refuseInward(_, address string, _ syscall.RawConn) error {
	if transport.Inward(address) {
		return fmt.Errorf("%s is of this host or its link, and somebody else has named it", address)
	}
	return nil
}
