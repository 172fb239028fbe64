package mtls_test

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/transport/mtls"
)

// beside runs a, c and an address at which something odd listens instead of b, whose key is returned.
func beside(t *testing.T, address string, keepalive time.Duration) (a, c *node, key string) {
	t.Helper()
	key = identity(t, "b")
	i, err := mtls.LoadIdentity(key, "")
	if err != nil {
		t.Fatal(err)
	}
	odd := mtls.Peer{Name: "b", URL: "https://" + address, Key: i.Fingerprint().String()}
	a = listen(t, mtls.Config{Self: "a", Key: identity(t, "a"), Queue: 1 << 20, Keepalive: keepalive})
	c = listen(t, mtls.Config{Self: "c", Key: identity(t, "c")})
	a.cfg.Peers, c.cfg.Peers = []mtls.Peer{odd, pinned(c)}, []mtls.Peer{pinned(a)}
	for _, n := range []*node{a, c} {
		n.reload(t)
		n.run(t)
	}
	connected(t, a, c)
	return a, c, key
}

// fill sends to b until that is refused; meanwhile c is served.
func fill(t *testing.T, a, c *node) {
	t.Helper()
	from, to := open(t, a), open(t, c)
	body, full := make([]byte, 10<<10), false
	for i := range 10_000 {
		err := from.Send("b", body)
		if err != nil && !errors.Is(err, transport.ErrFull) {
			t.Fatal(err)
		}
		full = full || err != nil
		if i%100 == 0 {
			text := fmt.Sprint("beside ", i)
			if err := from.Send("c", []byte(text)); err != nil {
				t.Fatalf("c pays for b: %v", err)
			}
			if got := next(t, to); string(got.Body) != text {
				t.Fatalf("c received %q, want %q", got.Body, text)
			}
		}
	}
	if stats := a.Stats().Peers; !full || stats["b"].Full == 0 || stats["c"].Full > 0 {
		t.Errorf("of 100 MB to b none was refused, or of c one: %+v", stats)
	}
}

// next waits for a message.
func next(t *testing.T, l transport.Line) transport.Envelope {
	t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case e := <-l.Inbox():
		return e
	case <-late.C:
		t.Fatalf("no message within %v", patience)
	}
	return transport.Envelope{}
}

// mute listens as b, speaks HTTP/2 and answers pings. It says what it is told at the start of a stream, and reads nothing.
func mute(t *testing.T, listener net.Listener, key string, says []byte) {
	t.Helper()
	over := make(chan struct{})
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/connect+conch")
			_, _ = w.Write(says)
			_ = http.NewResponseController(w).Flush()
			<-over
		}),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{shown(t, key)}, ClientAuth: tls.RequireAnyClientCert},
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.ServeTLS(listener, "", "") })
	t.Cleanup(func() { _ = server.Close(); serving.Wait() })
	t.Cleanup(func() { close(over) })
}

// somewhere listens on loopback.
func somewhere(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

// A peer that says hello and never reads a message.
func TestAPeerThatNeverReads(t *testing.T) {
	t.Parallel()
	listener := somewhere(t)
	a, c, key := beside(t, listener.Addr().String(), time.Second)
	h := mtls.HelloOf(mtls.Version, "b", nil)
	mute(t, listener, key, append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(h))), h...))
	eventually(t, "a is connected with b", func() bool { return a.Stats().Peers["b"].Connected })
	fill(t, a, c)
	if !a.Stats().Peers["b"].Connected {
		t.Error("b answers pings and was disconnected")
	}
}

// A peer that takes the stream and does not say hello.
func TestAPeerThatNeverSaysHello(t *testing.T) {
	t.Parallel()
	listener := somewhere(t)
	a, _, key := beside(t, listener.Addr().String(), time.Second)
	mute(t, listener, key, nil)
	eventually(t, "b is found silent", func() bool { return a.Stats().Peers["b"].Refused[mtls.Silent] > 0 })
}

// A peer whose address takes connections and says nothing.
func TestAPeerThatSaysNothing(t *testing.T) {
	t.Parallel()
	listener := somewhere(t)
	a, c, _ := beside(t, listener.Addr().String(), time.Second)
	fill(t, a, c)
	eventually(t, "b is found silent", func() bool { return a.Stats().Peers["b"].Refused[mtls.Silent] > 0 })
}

// proxy forwards connections until it swallows what comes.
type proxy struct {
	net.Listener
	to        string
	swallowed atomic.Bool
	over      context.Context
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &proxy{Listener: listener, to: to, over: ctx}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := new(net.Dialer).DialContext(ctx, "tcp", p.to)
			if err != nil {
				_ = near.Close()
				continue
			}
			context.AfterFunc(ctx, func() { _, _ = near.Close(), far.Close() })
			running.Go(func() { p.forward(near, far) })
			running.Go(func() { p.forward(far, near) })
		}
	})
	t.Cleanup(func() { cancel(); _ = listener.Close(); running.Wait() })
	return p
}

func (p *proxy) forward(from, to net.Conn) {
	defer to.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if p.swallowed.Load() {
			n = 0
			if err != nil {
				<-p.over.Done() // the other end hears nothing of it
				return
			}
		}
		if _, failed := to.Write(buffer[:n]); err != nil || failed != nil {
			return
		}
	}
}

// A line that swallows everything is noticed, costs no other peer anything, and comes back.
func TestABlackHole(t *testing.T) {
	t.Parallel()
	b := listen(t, mtls.Config{Self: "b", Key: identity(t, "b"), Keepalive: 300 * time.Millisecond})
	hole := newProxy(t, b.Addr().String())
	a := listen(t, mtls.Config{Self: "a", Key: identity(t, "a"), Queue: 1 << 20, Keepalive: 300 * time.Millisecond})
	c := listen(t, mtls.Config{Self: "c", Key: identity(t, "c")})
	behind := pinned(b)
	behind.URL = "https://" + hole.Addr().String()
	a.cfg.Peers, c.cfg.Peers = []mtls.Peer{behind, pinned(c)}, []mtls.Peer{pinned(a)}
	unreachable := pinned(a)
	unreachable.URL = "https://127.0.0.1:1" // b cannot wake a
	b.cfg.Peers = []mtls.Peer{unreachable}
	for _, n := range []*node{a, b, c} {
		n.reload(t)
		n.run(t)
	}
	from, there := open(t, a), open(t, b)
	until(t, from, "b", there, "before")
	hole.swallowed.Store(true)
	eventually(t, "both notice", func() bool { return !a.Stats().Peers["b"].Connected && !b.Stats().Peers["a"].Heard })
	to := open(t, c)
	for i := range 100 {
		_ = from.Send("b", make([]byte, 100<<10))
		until(t, from, "c", to, fmt.Sprint("beside ", i))
	}
	hole.swallowed.Store(false)
	until(t, from, "b", there, "after")
}

// A peer that sends as fast as it can is braked, and others are heard between its messages.
func TestAFlood(t *testing.T) {
	t.Parallel()
	a, b := impostor(t)
	c := listen(t, mtls.Config{Self: "c", Key: identity(t, "c")})
	a.cfg.Rate = 1 << 20
	a.cfg.Peers = append(a.cfg.Peers, pinned(c))
	c.cfg.Peers = []mtls.Peer{pinned(a)}
	a.reload(t)
	c.reload(t)
	c.run(t)
	at, from := open(t, a), open(t, c)
	connected(t, a, c)
	if err := b.Packet(mtls.HelloOf(mtls.Version, "b", nil)); err != nil {
		t.Fatal(err)
	}
	var flooding sync.WaitGroup
	flooding.Go(func() {
		var err error
		for err == nil { // until the test is over
			err = b.Packet(mtls.BatchOf("s", make([]byte, 1000), 1000))
		}
	})
	t.Cleanup(func() { _ = b.Link.Close(); flooding.Wait() })
	eventually(t, "b is braked", func() bool { return a.Stats().Peers["b"].Braked > 2 })
	for i := range 50 { // at is read only here, so b's messages are always waiting
		if err := from.Send("a", fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
		for between := 0; ; between++ {
			if e := next(t, at); e.From == "c" {
				if string(e.Body) != fmt.Sprint(i) {
					t.Fatalf("got %q, want %d", e.Body, i)
				}
				break
			}
			if between > boxMessages+100 && a.Stats().Peers["c"].Received > uint64(i) {
				t.Fatalf("message %d of c waits behind the flood", i)
			}
		}
	}
	if stats := a.Stats().Peers; stats["b"].Dropped == 0 || stats["c"].Dropped > 0 {
		t.Errorf("dropped of b %d and of c %d, want some and none", stats["b"].Dropped, stats["c"].Dropped)
	}
}

const boxMessages = 1024

// A connection that does not say who is behind it holds no place for long, and costs no peer its own.
func TestAFloodOfStrangers(t *testing.T) {
	t.Parallel()
	all := network(t, "a", "b")
	a, b := all["a"], all["b"]
	connected(t, a, b)
	flood := func() {
		for range transport.MostStrangers + 36 {
			c, err := net.Dial("tcp", a.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
		}
	}
	flood()
	b.stop()
	again := listen(t, b.cfg)
	again.reload(t)
	again.run(t)
	a.cfg.Peers = []mtls.Peer{pinned(again)}
	a.reload(t)
	connected(t, a, again)
	counted := func() bool { return a.Stats().Strangers[mtls.TooMany] >= 36 }
	for tries := 0; tries < 20 && !counted(); tries++ {
		flood() // on a machine so slow that the first had gone before the last came
	}
	eventually(t, "they are counted", counted)
}

// A peer that connects again and again has few connections, and the newest is the one that counts.
func TestConnectionsOfOnePeer(t *testing.T) {
	t.Parallel()
	a, show := knowing(t)
	b := raw(t, a, show)
	say := func(r mtls.Raw) error {
		err := r.Packet(mtls.HelloOf(mtls.Version, "b", nil))
		if err == nil {
			_, err = r.Hear()
		}
		return err
	}
	if err := say(b); err != nil {
		t.Fatal(err)
	}
	newer := raw(t, a, show)
	if err := say(newer); err != nil {
		t.Fatal(err)
	}
	eventually(t, "only the newer one is left", func() bool { return len(a.Connections("b")) == 1 && a.Stats().Peers["b"].Heard })
	if _, err := b.Hear(); err == nil {
		t.Error("the older connection goes on")
	}
	for range 4 {
		if _, err := call(t, a, show); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "too many are counted", func() bool { return a.Stats().Peers["b"].Refused[mtls.TooMany] > 0 && len(a.Connections("b")) <= 3 })
}

// A peer that proves who it is and then says nothing is cut off.
func TestAPeerWithoutAHello(t *testing.T) {
	t.Parallel()
	a, b := impostor(t)
	if err := b.Send(nil); err != nil { // the header of the request
		t.Fatal(err)
	}
	eventually(t, "it is found silent", func() bool { return a.Stats().Peers["b"].Refused[mtls.Silent] == 1 })
	if _, err := b.Hear(); err == nil {
		t.Error("it was answered")
	}
}
