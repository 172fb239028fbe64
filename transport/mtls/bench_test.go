package mtls_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/transport/mtls"
)

// BenchmarkThroughput sends messages of one size over loopback until the reader has as many, and as many bytes over one
// raw TLS stream, in writes of 256 KiB, in the same run. The ratio is that of bytes per second.
func BenchmarkThroughput(b *testing.B) {
	for _, size := range []int{100, 1 << 10, 16 << 10, 256 << 10} {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			from, to := fastPair(b)
			body := make([]byte, size)
			b.SetBytes(int64(size))
			b.ResetTimer()
			began := time.Now()
			go flood(from, "b", body, b.N)
			for range b.N {
				<-to.Inbox()
			}
			took := time.Since(began)
			b.StopTimer()
			ceiling := rawTLS(b, b.N*size)
			b.ReportMetric(float64(b.N)/took.Seconds(), "messages/s")
			b.ReportMetric(ceiling.Seconds()/took.Seconds(), "of-raw-TLS")
		})
	}
}

// flood sends so many messages, and tries again while the queue is full.
func flood(l transport.Line, to string, body []byte, count int) {
	for count > 0 {
		switch err := l.Send(to, body); {
		case err == nil:
			count--
		case errors.Is(err, transport.ErrFull):
			<-time.After(50 * time.Microsecond)
		default:
			return
		}
	}
}

// fastPair returns lines of two endpoints without a brake on the rate.
func fastPair(b *testing.B) (from, to transport.Line) {
	b.Helper()
	one, two := listen(b, mtls.Config{Self: "a", Key: identity(b, "a"), Rate: 1 << 40}), listen(b, mtls.Config{Self: "b", Key: identity(b, "b"), Rate: 1 << 40})
	one.cfg.Peers, two.cfg.Peers = []mtls.Peer{pinned(two)}, []mtls.Peer{pinned(one)}
	for _, n := range []*node{one, two} {
		n.reload(b)
		n.run(b)
	}
	from, to = open(b, one), open(b, two)
	flood(from, "b", nil, 1)
	<-to.Inbox() // connected
	return from, to
}

// rawTLS returns how long one TLS stream over loopback takes for so many bytes.
func rawTLS(b *testing.B, bytes int) time.Duration {
	b.Helper()
	self, err := mtls.LoadIdentity(identity(b, "raw"), "")
	if err != nil {
		b.Fatal(err)
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{mtls.CertificateOf(self)}, InsecureSkipVerify: true}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer listener.Close()
	go func() {
		c, err := listener.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		link := tls.Server(c, cfg)
		_, _ = io.CopyBuffer(struct{ io.Writer }{link}, io.LimitReader(zeros{}, int64(bytes)), make([]byte, 256<<10))
		_ = link.Close()
	}()
	c, err := tls.Dial("tcp", listener.Addr().String(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.Handshake(); err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	if n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{c}, make([]byte, 256<<10)); err != nil || n != int64(bytes) {
		b.Fatalf("%d bytes, error %v", n, err)
	}
	return time.Since(began)
}

// zeros reads as zeros without end, in pieces as large as a batch.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
