package tcpproxy

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"
)

type link struct {
	client, server net.Conn   // server: nil until it was dialled
	source         netip.Addr // of the client
	made           time.Time
	asked          bool // the client spoke last
	trips          *int
}

func (l *link) reset() {
	abort(l.client)
	if l.server != nil {
		abort(l.server)
	}
}

// abort closes with a RST, or without one on a Unix socket, which has none.
func abort(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

const buffer = 32 << 10

// buffers are used again: where connections come and go, to make them took a tenth of the time.
var buffers sync.Pool

// pump copies one direction. The end of a stream and a RST wait like other bytes: they do
// not pass a real black hole either.
func (p *Proxy) pump(l *link, dir Direction, from, to net.Conn) {
	kept, is := buffers.Get().(*[buffer]byte)
	if !is {
		kept = new([buffer]byte)
	}
	defer buffers.Put(kept)
	for buf := kept[:]; ; {
		n, err := from.Read(buf)
		if !p.pass(l, dir) {
			return
		}
		if n > 0 {
			p.count(l, dir)
			if _, err := to.Write(buf[:n]); err != nil {
				l.reset()
				return
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			if half, ok := to.(interface{ CloseWrite() error }); ok {
				_ = half.CloseWrite()
			}
			return
		default:
			l.reset()
			return
		}
	}
}

// knocks waits until the server may hear of a client, and returns what that has said meanwhile: no server knows of a connection
// whose first packet was lost. It is false if the client has gone, or the proxy ends. So a line that stays silent keeps nothing.
func (p *Proxy) knocks(l *link) (said []byte, is bool) {
	buf := make([]byte, buffer)
	for {
		p.mu.Lock()
		silent, changed := p.isSilent(l, ToServer), p.changed
		p.mu.Unlock()
		switch {
		case p.ctx.Err() != nil:
			return nil, false
		case !silent:
			return said, true
		}
		n, err := p.readUntil(changed, l.client, buf)
		if said = append(said, buf[:n]...); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) || len(said) > buffer {
			return nil, false
		}
	}
}

// readUntil reads until something has changed, or the proxy ends.
func (p *Proxy) readUntil(changed <-chan struct{}, from net.Conn, buf []byte) (int, error) {
	var guard sync.WaitGroup
	heard := make(chan struct{})
	guard.Go(func() {
		select {
		case <-changed:
		case <-p.ctx.Done():
		case <-heard:
			return
		}
		_ = from.SetReadDeadline(time.Now())
	})
	n, err := from.Read(buf)
	close(heard)
	guard.Wait()
	_ = from.SetReadDeadline(time.Time{})
	return n, err
}

// isSilent reports whether a link's bytes do not pass in a direction. The proxy's mutex is held.
func (p *Proxy) isSilent(l *link, dir Direction) bool {
	return p.silent&dir != 0 || p.apart != nil && p.apart(l.source)
}

// sourceOf returns the address from which a client has dialled.
func sourceOf(client net.Conn) netip.Addr {
	tcp, ok := client.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return tcp.AddrPort().Addr().Unmap()
}

func (p *Proxy) count(l *link, dir Direction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if dir == ToClient && l.asked {
		*l.trips++
	}
	l.asked = dir == ToServer
}

// pass waits until bytes that have just been read may go on, or returns false at Close.
func (p *Proxy) pass(l *link, dir Direction) bool {
	arrived := time.Now()
	for {
		p.mu.Lock()
		silent, due, changed := p.isSilent(l, dir), time.Until(arrived.Add(p.delay)), p.changed
		p.mu.Unlock()
		if !silent && due <= 0 {
			return p.ctx.Err() == nil
		}
		var over <-chan time.Time
		timer := time.NewTimer(due)
		if !silent {
			over = timer.C
		}
		select {
		case <-over:
		case <-changed:
		case <-p.ctx.Done():
		}
		timer.Stop()
		if p.ctx.Err() != nil {
			return false
		}
	}
}
