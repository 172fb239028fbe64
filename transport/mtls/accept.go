package mtls

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/transport"
)

// door accepts connections and hands on those whose other side has proven who it is. It is the net.Listener of an HTTP
// server, which therefore never sees a stranger.
type door struct {
	net.Listener
	endpoint *Endpoint
	proven   chan *tls.Conn
	done     <-chan struct{}
	places   chan struct{} // of those that are not proven

	mu      sync.Mutex
	waiting []net.Conn // before their proof
}

// Accept implements net.Listener.
func (d *door) Accept() (net.Conn, error) {
	select {
	case c := <-d.proven:
		return c, nil
	case <-d.done:
		return nil, net.ErrClosed
	}
}

// accept accepts connections until the context ends or the listener breaks.
func (e *Endpoint) accept(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d := &door{Listener: e.listener, endpoint: e, proven: make(chan *tls.Conn), done: ctx.Done(), places: make(chan struct{}, transport.MostStrangers)}
	server := e.server(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { _ = server.Serve(d) })
	context.AfterFunc(ctx, func() { _ = e.listener.Close() })
	defer func() {
		cancel()
		_ = server.Close()
		d.evictAll()
	}()
	for failures := 0; ; failures++ {
		raw, err := e.listener.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if e.closed() {
			d.evictAll()
			<-ctx.Done()
			return nil
		}
		if err == nil {
			failures = 0
			if d.enter(raw) {
				running.Go(func() { d.prove(ctx, raw) })
			}
			continue
		}
		if failures > 20 { // a minute and more
			return err
		}
		_ = pause.For(ctx, pause.Doubled(firstPause, min(failures, 5), mostPause)) // as a rule the process has no file descriptor left
	}
}

// enter takes a connection that is not proven yet. Until there is a place for it nothing else is accepted: the others wait in
// the host's backlog, where they cost next to nothing. It is false if the door has closed meanwhile.
func (d *door) enter(raw net.Conn) bool {
	late := time.NewTimer(transport.StrangerWaits)
	defer late.Stop()
	for {
		select {
		case d.places <- struct{}{}:
			d.mu.Lock()
			defer d.mu.Unlock()
			d.waiting = append(d.waiting, raw)
			return true
		case <-d.done:
			_ = raw.Close()
			return false
		case <-late.C:
			d.evict()
			late.Reset(transport.StrangerWaits)
		}
	}
}

// evict closes a connection that is not proven: any, since the oldest may be about to be. If that went whenever there are too
// many, of thousands that come at one time none would get through.
func (d *door) evict() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.waiting) > 0 {
		at := rand.IntN(len(d.waiting)) //nolint:gosec // chance that is foretold harms nobody: a place is free 2 ms later
		_ = d.waiting[at].Close()
		d.waiting = slices.Delete(d.waiting, at, at+1)
	}
}

func (d *door) evictAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, raw := range d.waiting {
		_ = raw.Close()
	}
	d.waiting = nil
}

// spare takes a connection off the list of those that may have to go.
func (d *door) spare(raw net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = slices.DeleteFunc(d.waiting, func(other net.Conn) bool { return other == raw })
}

func (d *door) leave(raw net.Conn) {
	d.spare(raw)
	<-d.places
}

// prove runs the handshake, and hands the connection on.
func (d *door) prove(ctx context.Context, raw net.Conn) {
	defer d.leave(raw)
	c, err := d.endpoint.greetStranger(ctx, raw)
	if err != nil {
		r := d.endpoint.explain(handshakeRefusal("", err))
		if ctx.Err() == nil && !d.endpoint.calledOff(r) { // otherwise Run ends, and nobody is to blame
			d.endpoint.refused(r, raw.RemoteAddr())
		}
		if r.Reason == Crowded {
			d.turnAway(c.tls, r)
		}
		_ = raw.Close()
		return
	}
	d.spare(raw) // it is proven, and its session may begin in the next instant
	select {
	case d.proven <- c.tls:
	case <-d.done:
		d.endpoint.drop(c.tls)
	}
}

// calledOff reports whether a connection ended before its proof without a word. Nodes that roam call each other at one time,
// and each calls off what the other's call has made needless: that is no stranger, and was not refused.
func (e *Endpoint) calledOff(r *RefusalError) bool {
	return e.cfg.Roam && r.Reason == Silent && !errors.Is(r.Err, os.ErrDeadlineExceeded) && !errors.Is(r.Err, context.DeadlineExceeded)
}

// greetStranger finds out who has connected.
func (e *Endpoint) greetStranger(ctx context.Context, raw net.Conn) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, introduction)
	defer cancel()
	e.mu.RLock()
	self, known := e.self, e.roster
	e.mu.RUnlock()
	var name string
	var until time.Time
	link := tls.Server(raw, &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"}, Certificates: []tls.Certificate{self.certificate},
		ClientAuth: tls.RequestClientCert, SessionTicketsDisabled: true, // without a certificate VerifyConnection refuses, and says so
		VerifyConnection: func(s tls.ConnectionState) (err error) {
			name, until, err = known.who(s.PeerCertificates, e.now())
			return err
		},
	})
	if err := link.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	if link.ConnectionState().NegotiatedProtocol != "h2" {
		return nil, refuse(name, OldTLS, "it does not speak HTTP/2")
	}
	c := &conn{tls: link, verified: known, until: until, incoming: true}
	return c, e.admit(c, name)
}

// enter counts a stream that is served, unless the door is closed.
func (e *Endpoint) enter() bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	open := !e.over && !e.closed()
	if open {
		e.handlers.Add(1)
	}
	return open
}

// connKey finds the connection of a request, and controlKey what sets its deadlines.
type (
	connKey    struct{}
	controlKey struct{}
)

// server is the HTTP server behind the door.
func (e *Endpoint) server(ctx context.Context) *http.Server {
	path := procedure
	if e.cfg.Roam {
		path = procedureRoaming
	}
	talk := connect.NewBidiStreamHandler(path, e.serve,
		connect.WithCodec(codec{}), connect.WithReadMaxBytes(mostPacket), connect.WithCompression("gzip", nil, nil))
	return &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != path || !e.enter() {
				http.NotFound(w, r)
				return
			}
			defer e.handlers.Done()
			talk.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), controlKey{}, http.NewResponseController(w))))
		}),
		Protocols: protocols(), HTTP2: http2(e.cfg.Keepalive, e.cfg.Roam), IdleTimeout: introduction, ReadHeaderTimeout: introduction, MaxHeaderBytes: mostHeader,
		ErrorLog:    slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug), // the other side decides what would be in it
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			e.mu.RLock()
			defer e.mu.RUnlock()
			link, _ := c.(*tls.Conn)
			return context.WithValue(context.WithValue(ctx, connKey{}, e.conns[link]), awayKey{}, e.away[link])
		},
		ConnState: func(c net.Conn, s http.ConnState) {
			if link, ok := c.(*tls.Conn); ok && s == http.StateClosed {
				e.drop(link)
				e.gone(link)
			}
		},
	}
}
