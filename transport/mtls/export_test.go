package mtls

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"connectrpc.com/connect"

	"github.com/conchhq/conch/transport"
)

// CertificateOf returns what an identity shows in a handshake.
func CertificateOf(i Identity) tls.Certificate { return i.certificate }

// Connections returns the local addresses of the connections with a peer: one that was made anew has another.
func (e *Endpoint) Connections(peer string) map[string]bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	all := map[string]bool{}
	for _, c := range e.conns {
		if c.peer.name == peer {
			all[c.tls.LocalAddr().String()+" "+c.tls.RemoteAddr().String()] = true
		}
	}
	return all
}

// Judge has an endpoint judge certificates by another clock, and look again at once, again and again. It is called before Run.
func (e *Endpoint) Judge(now func() time.Time) { e.now, e.every = now, 10*time.Millisecond }

// Door is where connections wait until they are proven.
type Door struct{ d *door }

// NewDoor returns one that nobody has come to.
func NewDoor() Door {
	return Door{&door{done: make(chan struct{}), places: make(chan struct{}, transport.MostStrangers)}}
}

// Enter takes a connection.
func (d Door) Enter(c net.Conn) bool { return d.d.enter(c) }

// Leave says that its proof is over.
func (d Door) Leave(c net.Conn) { d.d.leave(c) }

// Waiting counts those that are to be proven.
func (d Door) Waiting() int {
	d.d.mu.Lock()
	defer d.d.mu.Unlock()
	return len(d.d.waiting)
}

// Raw is a stream of a peer that sends whatever it likes.
type Raw struct {
	connect.StreamingClientConn
	Link *tls.Conn
}

// NewRaw begins a stream over a connection, until the context ends.
func NewRaw(ctx context.Context, link *tls.Conn, others ...connect.ClientOption) (Raw, error) {
	stream, _, err := over(ctx, link, time.Minute, others...)
	context.AfterFunc(ctx, func() { _ = link.NetConn().Close() })
	return Raw{stream, link}, err
}

// Packet sends the bytes of a packet.
func (r Raw) Packet(packet []byte) error { return r.Send(&outgoing{packet}) }

// Hear waits for a packet.
func (r Raw) Hear() ([]byte, error) {
	var in incoming
	err := r.Receive(&in)
	return in.packet, err
}

// HelloOf returns the packet of a hello.
func HelloOf(v uint64, from string, claims map[string]transport.Claims) []byte {
	return (&hello{version: v, from: from, claims: claims}).packet()
}

// BatchOf returns a packet with one frame many times.
func BatchOf(subject string, body []byte, times int) []byte {
	packet := []byte{kindBatch}
	for range times {
		packet = appendFrame(packet, subject, body)
	}
	return packet
}

// Version is of the protocol.
const Version = version

// Procedure is the path of the stream.
const Procedure = procedure

// NewRawRoaming begins a stream between nodes that roam.
func NewRawRoaming(ctx context.Context, link *tls.Conn) (Raw, error) {
	stream, _, err := dialogue(ctx, link, time.Minute, true)
	context.AfterFunc(ctx, func() { _ = link.NetConn().Close() })
	return Raw{stream, link}, err
}

// Confirmation is what a caller says when it has the answer.
var Confirmation = confirmation

// Kept counts what an endpoint keeps of peers, connections, sessions, calls and debts.
func (e *Endpoint) Kept() (peers, conns, sessions, calls, debts int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.payDebts()
	return len(e.peers), len(e.conns), len(e.sessions) + len(e.leaving), len(e.calls), len(e.guests.debts)
}

// Away counts the connections that are being turned away.
func (e *Endpoint) Away() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.away)
}
