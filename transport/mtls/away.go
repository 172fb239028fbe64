package mtls

import (
	"crypto/tls"
	"time"
)

// away is a connection whose other side has proven who it is and finds no room. It is told why: TLS has no alert that says
// it, so it is the answer to its call.
type away struct {
	why  *RefusalError
	gone chan struct{} // closed with the connection
}

// awayKey finds what a request is told that is turned away.
type awayKey struct{}

// turnAway answers a call with the reason why it is refused, and returns when the connection is gone. Until then it has its
// place among those that are not proven, so a crowd that is turned away is limited too.
func (d *door) turnAway(link *tls.Conn, why *RefusalError) {
	e, a := d.endpoint, &away{why: why, gone: make(chan struct{})}
	e.mu.Lock()
	e.away[link] = a
	e.mu.Unlock()
	defer e.gone(link)
	late := time.NewTimer(introduction)
	defer late.Stop()
	select {
	case d.proven <- link:
	case <-d.done:
		return
	}
	select {
	case <-a.gone:
	case <-late.C:
	case <-d.done:
	}
}

// gone notes the end of a connection that was turned away.
func (e *Endpoint) gone(link *tls.Conn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if a := e.away[link]; a != nil {
		delete(e.away, link)
		close(a.gone)
	}
}
