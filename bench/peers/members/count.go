package main

import (
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"
)

// counter counts what members send: packets, and what goes over a stream in either direction. A stream is one message in
// each direction. What UDP, TCP and IP add is not in it.
type counter struct{ messages, bytes atomic.Int64 }

func (c *counter) add(messages, bytes int) {
	c.messages.Add(int64(messages))
	c.bytes.Add(int64(bytes))
}

// counted is the library's own transport, which counts. What a member accepts is counted by the member that has dialled.
type counted struct {
	*memberlist.NetTransport

	sent *counter
}

// listen takes a free port.
func listen(sent *counter) (counted, error) {
	t, err := memberlist.NewNetTransport(&memberlist.NetTransportConfig{
		BindAddrs: []string{"127.0.0.1"}, Logger: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
	})
	return counted{t, sent}, err
}

// WriteTo implements memberlist.Transport.
func (c counted) WriteTo(b []byte, to string) (time.Time, error) {
	return c.WriteToAddress(b, memberlist.Address{Addr: to})
}

// WriteToAddress implements memberlist.NodeAwareTransport.
func (c counted) WriteToAddress(b []byte, to memberlist.Address) (time.Time, error) {
	c.sent.add(1, len(b))
	return c.NetTransport.WriteToAddress(b, to)
}

// DialTimeout implements memberlist.Transport.
func (c counted) DialTimeout(to string, timeout time.Duration) (net.Conn, error) {
	return c.DialAddressTimeout(memberlist.Address{Addr: to}, timeout)
}

// DialAddressTimeout implements memberlist.NodeAwareTransport.
func (c counted) DialAddressTimeout(to memberlist.Address, timeout time.Duration) (net.Conn, error) {
	conn, err := c.NetTransport.DialAddressTimeout(to, timeout)
	if err != nil {
		return nil, err
	}
	return &stream{Conn: conn, sent: c.sent}, nil
}

// stream is a connection that counts both directions.
type stream struct {
	net.Conn

	sent          *counter
	read, written atomic.Bool
}

// Read implements net.Conn.
func (s *stream) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	s.sent.add(first(&s.read, n), n)
	return n, err
}

// Write implements net.Conn.
func (s *stream) Write(b []byte) (int, error) {
	n, err := s.Conn.Write(b)
	s.sent.add(first(&s.written, n), n)
	return n, err
}

// first is 1 for the first bytes.
func first(before *atomic.Bool, n int) int {
	if n > 0 && before.CompareAndSwap(false, true) {
		return 1
	}
	return 0
}
