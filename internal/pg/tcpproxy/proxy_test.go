package tcpproxy_test

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	patience = 5 * time.Second
	silence  = 80 * time.Millisecond // a test that expects no bytes waits this long
)

// echo starts a server that sends back all it receives.
func echo(t *testing.T, network, address string) string {
	t.Helper()
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		running.Wait()
	})
	return listener.Addr().String()
}

func proxied(t *testing.T, target string) (*tcpproxy.Proxy, net.Conn) {
	t.Helper()
	proxy, err := tcpproxy.New(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	return proxy, dial(t, proxy)
}

func dial(t *testing.T, proxy *tcpproxy.Proxy) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{Timeout: patience}).DialContext(t.Context(), "tcp", proxy.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func send(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := conn.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

func hear(conn net.Conn, within time.Duration) (string, error) {
	_ = conn.SetReadDeadline(time.Now().Add(within))
	buf := make([]byte, 64)
	n, err := conn.Read(buf)
	return string(buf[:n]), err
}

func mustHear(t *testing.T, conn net.Conn, want string) {
	t.Helper()
	if got, err := hear(conn, patience); err != nil || got != want {
		t.Fatalf("received %q and %v, want %q", got, err, want)
	}
}

// A server does not hear of a connection whose first packet was lost, as a real one does not; once the silence ends it does, and of all that
// was said. A client that has gone leaves nothing behind.
func TestANewConnectionThroughASilence(t *testing.T) {
	t.Parallel()
	proxy, before := proxied(t, echo(t, "tcp", "127.0.0.1:0"))
	send(t, before, "before")
	mustHear(t, before, "before")
	proxy.Blackhole(tcpproxy.ToServer)
	gone, waits := dial(t, proxy), dial(t, proxy)
	send(t, gone, "gone")
	send(t, waits, "wai")
	standing := func() int { return proxy.Standing(time.Time{}, time.Now()) }
	pgtest.Eventually(t, patience, "both wait", func() bool { return standing() == 3 })
	if n := proxy.Standing(time.Now(), time.Now().Add(time.Hour)) + proxy.Standing(time.Time{}, time.Now().Add(-time.Hour)); n != 0 {
		t.Errorf("%d connections were made before the first or after the last", n)
	}
	_ = gone.Close()
	pgtest.Eventually(t, patience, "one has gone", func() bool { return standing() == 2 })
	if heard := len(proxy.Trips()); heard != 1 {
		t.Errorf("the server has heard of %d connections, want of the first alone", heard)
	}
	send(t, waits, "ts")
	proxy.Heal()
	for said := ""; said != "waits"; {
		more, err := hear(waits, patience)
		if said += more; err != nil {
			t.Fatalf("received %q and %v, want all that was said", said, err)
		}
	}
}

func TestSilenceEachWayHealsWithTheSameConnection(t *testing.T) {
	t.Parallel()
	target := echo(t, "tcp", "127.0.0.1:0")
	for _, dir := range []tcpproxy.Direction{tcpproxy.ToServer, tcpproxy.ToClient, tcpproxy.Both} {
		proxy, conn := proxied(t, target)
		send(t, conn, "before")
		mustHear(t, conn, "before")
		proxy.Blackhole(dir)
		send(t, conn, "held")
		if got, err := hear(conn, silence); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("direction %d: received %q and %v through a black hole, want %v", dir, got, err, os.ErrDeadlineExceeded)
		}
		proxy.Heal()
		mustHear(t, conn, "held")
	}
}

// A client that dials from another address is not concerned by what parts the first one.
func TestPartConcernsThoseWhoAreChosen(t *testing.T) {
	t.Parallel()
	proxy, near := proxied(t, echo(t, "tcp", "127.0.0.1:0"))
	dialer := &net.Dialer{Timeout: patience, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 9, 8, 7)}}
	far, err := dialer.DialContext(t.Context(), "tcp", proxy.Addr())
	if err != nil {
		t.Skipf("this system has one loopback address only: %v", err)
	}
	t.Cleanup(func() { _ = far.Close() })
	for _, conn := range []net.Conn{near, far} {
		send(t, conn, "before")
		mustHear(t, conn, "before")
	}
	proxy.Part(func(source netip.Addr) bool { return source == netip.AddrFrom4([4]byte{127, 9, 8, 7}) })
	send(t, far, "held")
	send(t, near, "y")
	mustHear(t, near, "y")
	if got, err := hear(far, silence); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("received %q and %v from the other side, want %v", got, err, os.ErrDeadlineExceeded)
	}
	proxy.Heal()
	mustHear(t, far, "held")
}

func TestTheEndOfAStreamDoesNotPassABlackhole(t *testing.T) {
	t.Parallel()
	proxy, conn := proxied(t, echo(t, "tcp", "127.0.0.1:0"))
	send(t, conn, "x")
	mustHear(t, conn, "x")
	proxy.Blackhole(tcpproxy.ToServer)
	_ = conn.(*net.TCPConn).CloseWrite()
	if _, err := hear(conn, silence); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the end of the stream passed the black hole: %v, want %v", err, os.ErrDeadlineExceeded)
	}
	proxy.Heal()
	if _, err := hear(conn, patience); !errors.Is(err, io.EOF) {
		t.Fatalf("after Heal: %v, want %v", err, io.EOF)
	}
}

func TestReset(t *testing.T) {
	t.Parallel()
	proxy, conn := proxied(t, echo(t, "tcp", "127.0.0.1:0"))
	send(t, conn, "x")
	mustHear(t, conn, "x")
	proxy.Reset()
	if _, err := hear(conn, patience); !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("after Reset: %v, want %v", err, syscall.ECONNRESET)
	}
	send(t, dial(t, proxy), "new connections are welcome")
}

func TestRefuseSparesThoseThatExist(t *testing.T) {
	t.Parallel()
	proxy, conn := proxied(t, echo(t, "tcp", "127.0.0.1:0"))
	send(t, conn, "x")
	mustHear(t, conn, "x")
	proxy.Refuse()
	mustBeTornAway(t, proxy)
	send(t, conn, "y")
	mustHear(t, conn, "y")
}

func TestDelayIsEachWay(t *testing.T) {
	t.Parallel()
	proxy, conn := proxied(t, echo(t, "tcp", "127.0.0.1:0"))
	const each = 30 * time.Millisecond
	proxy.Delay(each)
	start := time.Now()
	send(t, conn, "x")
	mustHear(t, conn, "x")
	if took := time.Since(start); took < 2*each {
		t.Fatalf("the round trip took %v, want %v or more", took, 2*each)
	}
}

func TestAUnixSocketAsTarget(t *testing.T) {
	t.Parallel()
	_, conn := proxied(t, echo(t, "unix", filepath.Join(t.TempDir(), "s")))
	send(t, conn, "x")
	mustHear(t, conn, "x")
}

func TestNobodyBehind(t *testing.T) {
	t.Parallel()
	proxy, err := tcpproxy.New(filepath.Join(t.TempDir(), "missing"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	mustBeTornAway(t, proxy)
}

// mustBeTornAway expects a RST at the first read or while dialling.
func mustBeTornAway(t *testing.T, proxy *tcpproxy.Proxy) {
	t.Helper()
	conn, err := (&net.Dialer{Timeout: patience}).DialContext(t.Context(), "tcp", proxy.Addr())
	if err != nil {
		return
	}
	defer conn.Close()
	if got, err := hear(conn, patience); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("a new connection received %q and %v, want a reset", got, err)
	}
}

func TestTripsAreCountedPerConnection(t *testing.T) {
	t.Parallel()
	proxy, first := proxied(t, echo(t, "tcp", "127.0.0.1:0"))
	for range 3 {
		send(t, first, "x")
		mustHear(t, first, "x")
	}
	second := dial(t, proxy)
	send(t, second, "y")
	mustHear(t, second, "y")
	if got := proxy.Trips(); len(got) != 2 || got[0] != 3 || got[1] != 1 {
		t.Fatalf("the round trips are %v, want [3 1]", got)
	}
}

func TestRetargetMovesNewConnectionsOnly(t *testing.T) {
	t.Parallel()
	proxy, conn := proxied(t, echo(t, "tcp", "127.0.0.1:0"))
	send(t, conn, "x")
	mustHear(t, conn, "x")
	proxy.Retarget(filepath.Join(t.TempDir(), "missing"))
	mustBeTornAway(t, proxy)
	send(t, conn, "y")
	mustHear(t, conn, "y")
	proxy.Retarget(echo(t, "tcp", "127.0.0.1:0"))
	send(t, dial(t, proxy), "z")
}
