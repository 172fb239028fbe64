package mtls

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// mostConns is how many connections one peer has to this node: one, and another while it replaces that.
const mostConns = 3

// conn is a connection whose other side has proven who it is.
type conn struct {
	peer     *peer
	tls      *tls.Conn
	verified *roster   // by which it was proven
	until    time.Time // how long that proof holds; zero: for ever
	key      Fingerprint
	incoming bool
	since    time.Time
	cut      atomic.Bool   // by a reload: what it has sent before is not delivered any more
	parted   atomic.Bool   // by a Disconnect: the same, and nobody is to blame
	used     bool          // with Roam: it has had its session
	gone     chan struct{} // closed when it is off the list
}

// admit adds a connection of a peer to the list, by which a reload finds it. Of too many of one peer the oldest goes, but
// for the one that stands.
func (e *Endpoint) admit(c *conn, name string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	chain := c.tls.ConnectionState().PeerCertificates
	if c.verified != e.roster {
		until, err := e.roster.is(name, chain, e.now())
		if err != nil {
			return err
		}
		c.until = until
	}
	p := e.peers[name]
	if p == nil && c.incoming && e.roster.guests != nil {
		var err error
		if p, err = e.receiveGuest(name); err != nil {
			return err
		}
	}
	if p == nil || c.peer != nil && c.peer != p {
		return refuse(name, UnknownKey, "it was removed a moment ago")
	}
	p.uses++
	p.proven = c.until
	c.peer, c.key, c.since, c.gone = p, fingerprintOf(chain[0]), time.Now(), make(chan struct{})
	e.conns[c.tls] = c
	if !c.incoming {
		return nil
	}
	count, oldest := 0, c
	for _, other := range e.conns {
		if s := e.sessions[p.name]; other.peer == p && other.incoming && (s == nil || s.conn != other) {
			count++
			if other.since.Before(oldest.since) {
				oldest = other
			}
		}
	}
	if count > mostConns {
		go p.refused(refuse(name, TooMany, "it has %d connections, and %d are allowed: the oldest goes", count, mostConns))
		shut(oldest.tls)
	}
	return nil
}

// drop closes a connection and takes it off the list.
func (e *Endpoint) drop(link *tls.Conn) {
	shut(link)
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.conns[link]; c != nil {
		delete(e.conns, link)
		delete(e.leaving, c)
		close(c.gone)
		if c.peer.newest == c {
			c.peer.newest = nil
		}
		e.release(c.peer)
	}
}

// current makes a connection the only one that its peer has to this node.
func (e *Endpoint) current(c *conn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, other := range e.conns {
		if other.peer == c.peer && other.incoming && other != c && !other.since.After(c.since) {
			shut(other.tls)
		}
	}
}

// shut closes the socket itself: closing TLS first would wait for a peer that does not read.
func shut(link *tls.Conn) { _ = link.NetConn().Close() }

// handshakeRefusal names the reason of a handshake that failed.
func handshakeRefusal(peer string, err error) *RefusalError {
	reason := OldTLS
	header, odd := errors.AsType[tls.RecordHeaderError](err)
	switch text := err.Error(); {
	case odd && header.Conn != nil: // the library has it where the first record is none of TLS
		return refuse(peer, NoTLS, "its first bytes, %q, are none of TLS", header.RecordHeader[:])
	case odd, strings.Contains(text, "protocol version"), strings.Contains(text, "unsupported versions"):
	case strings.Contains(text, "remote error: tls: "):
		reason = RefusedUs
	case errors.Is(err, net.ErrClosed): // by evict
		reason = TooMany
	case errors.Is(err, io.EOF), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		reason = Silent
	default:
		if _, network := errors.AsType[net.Error](err); network {
			reason = Silent
		} else {
			reason = Malformed
		}
	}
	return refusalOf(err, peer, reason)
}
