package network

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	patience = 5 * time.Second
	silence  = 80 * time.Millisecond // a test that expects no bytes waits this long
)

// echo starts a server that sends back all that it receives.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-ended
	})
	return listener.Addr().String()
}

// dial connects from a node's home; the zero address is any.
func dial(t *testing.T, home netip.Addr, address string) net.Conn {
	t.Helper()
	dialer := net.Dialer{Timeout: patience}
	if home.IsValid() {
		dialer.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(home, 0))
	}
	conn, err := dialer.DialContext(context.WithoutCancel(t.Context()), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// passes reports whether what is sent comes back.
func passes(t *testing.T, conn net.Conn, within time.Duration) bool {
	t.Helper()
	if _, err := conn.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(within))
	_, err := io.ReadFull(conn, make([]byte, 1))
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	return err == nil
}

// healed expects what was held back.
func healed(t *testing.T, conn net.Conn) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		t.Error("what was held back did not come after the cut was healed: ", err)
	}
}

func TestACutBetweenPairs(t *testing.T) {
	t.Parallel()
	n := &Network{}
	t.Cleanup(n.Close)
	pairs := [][2]string{{"a", "b"}, {"a", "c"}, {"c", "b"}}
	conns := map[[2]string]net.Conn{}
	target := echo(t)
	for _, p := range pairs {
		if err := n.Between(p[0], p[1]); err != nil {
			t.Fatal(err)
		}
	}
	n.Lead("b", target)
	n.Lead("c", target)
	for _, p := range pairs {
		conns[p] = dial(t, netip.Addr{}, n.Way(p[0], p[1]))
		if !passes(t, conns[p], patience) {
			t.Fatalf("nothing passes from %s to %s", p[0], p[1])
		}
	}
	if n.Way("b", "a") != "" {
		t.Error("there is a way that was not made")
	}
	n.Cut(map[string]bool{"a": true, "c": true})
	if !passes(t, conns[pairs[1]], patience) {
		t.Error("a and c are on one side, and nothing passes")
	}
	for _, p := range [][2]string{pairs[0], pairs[2]} {
		if passes(t, conns[p], silence) {
			t.Errorf("it passes from %s to %s through the cut", p[0], p[1])
		}
	}
	n.Heal()
	healed(t, conns[pairs[0]])
	healed(t, conns[pairs[2]])
}

// In front of a node stands one relay for all: the one that dials is known by its address, also of a connection that was made while
// the network was cut.
func TestACutInFrontOfNodes(t *testing.T) {
	t.Parallel()
	n := &Network{}
	t.Cleanup(n.Close)
	homes := map[string]netip.Addr{}
	target := echo(t)
	for i, name := range []string{"a", "b", "c"} {
		homes[name] = netip.AddrFrom4([4]byte{127, 77, 0, byte(i + 1)})
		address, err := n.InFront(name, homes[name], netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 78, 0, byte(i + 1)}), 0).String())
		if err != nil {
			t.Skipf("this system has one loopback address only: %v", err)
		}
		n.Lead(name, target)
		if n.Way("anybody", name) != address {
			t.Fatalf("the way to %s is %s, want %s for all", name, n.Way("anybody", name), address)
		}
	}
	near, far := dial(t, homes["b"], n.Way("b", "a")), dial(t, homes["c"], n.Way("c", "a"))
	if !passes(t, near, patience) || !passes(t, far, patience) {
		t.Fatal("nothing passes although nothing is cut")
	}
	side := map[string]bool{"a": true, "b": true}
	n.Cut(side)
	clear(side) // it is the caller's
	if !passes(t, near, patience) {
		t.Error("a and b are on one side, and nothing passes")
	}
	later := dial(t, homes["c"], n.Way("c", "b"))
	for _, conn := range []net.Conn{far, later} {
		if passes(t, conn, silence) {
			t.Error("it passes from c through the cut")
		}
	}
	n.Heal()
	healed(t, far)
	healed(t, later)
}
