package mtls_test

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/transport/mtls"
)

// patience bounds each wait.
const patience = 30 * time.Second

// eventually waits until something is so.
func eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	late, look := time.NewTimer(patience), time.NewTicker(2*time.Millisecond)
	defer late.Stop()
	defer look.Stop()
	for !so() {
		select {
		case <-look.C:
		case <-late.C:
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// until sends a message again and again until it arrives, as the machines of wings do.
func until(t testing.TB, from transport.Line, to string, at transport.Line, body string) {
	t.Helper()
	last := time.Time{}
	eventually(t, fmt.Sprintf("%q arrives at %s", body, to), func() bool {
		if time.Since(last) > 100*time.Millisecond {
			last = time.Now()
			_ = from.Send(to, []byte(body))
		}
		for {
			select {
			case got := <-at.Inbox():
				if string(got.Body) == body {
					return true
				}
			default:
				return false
			}
		}
	})
}

// call makes a connection to a node as somebody who shows this certificate.
func call(t testing.TB, n *node, show ...tls.Certificate) (*tls.Conn, error) {
	t.Helper()
	link, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}, Certificates: show}}).DialContext(t.Context(), "tcp", n.Addr().String())
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = link.Close() })
	return link.(*tls.Conn), nil
}

// shown returns what an identity shows.
func shown(t testing.TB, file string) tls.Certificate {
	t.Helper()
	i, err := mtls.LoadIdentity(file, "")
	if err != nil {
		t.Fatal(err)
	}
	return mtls.CertificateOf(i)
}

func TestWhoIsRefusedInTheHandshake(t *testing.T) {
	t.Parallel()
	right, wrong := authority(t), authority(t)
	issue := func(c *ca, from, until time.Duration, names ...string) tls.Certificate {
		_, _, shown := c.issue(t, from, until, names...)
		return shown
	}
	past, future := -time.Hour, time.Hour
	for what, c := range map[string]struct {
		show   []tls.Certificate
		peer   string
		reason mtls.Reason
	}{
		"another key":                     {[]tls.Certificate{shown(t, identity(t, "x"))}, "", mtls.UnknownKey},
		"no certificate":                  {nil, "", mtls.NoCertificate},
		"of another CA":                   {[]tls.Certificate{issue(wrong, past, future, "north")}, "north", mtls.OtherCA},
		"expired":                         {[]tls.Certificate{issue(right, 2*past, past, "north")}, "north", mtls.Expired},
		"not yet valid":                   {[]tls.Certificate{issue(right, future, 2*future, "north")}, "north", mtls.Expired},
		"a name that nobody has":          {[]tls.Certificate{issue(right, past, future, "nobody")}, "", mtls.UnknownKey},
		"a pattern":                       {[]tls.Certificate{issue(right, past, future, "*.test", "*")}, "", mtls.UnknownKey},
		"two names":                       {[]tls.Certificate{issue(right, past, future, "north", "east.test")}, "", mtls.OtherName},
		"a CA speaks for one that pinned": {[]tls.Certificate{issue(right, past, future, "pinned")}, "pinned", mtls.WrongKey},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			n := listen(t, mtls.Config{Self: "a", Key: identity(t, "a"), CA: right.file})
			nowhere := "https://127.0.0.1:1"
			n.cfg.Peers = []mtls.Peer{{Name: "north", URL: nowhere}, {Name: "east.test", URL: nowhere}, {Name: "pinned", URL: nowhere, Key: "sha256:" + fmt.Sprintf("%064d", 1)}}
			n.reload(t)
			n.run(t)
			if link, err := call(t, n, c.show...); err == nil { // the server judges after the client has finished
				if _, err := link.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
					t.Errorf("the connection goes on: error %v", err)
				}
			}
			eventually(t, string(c.reason), func() bool {
				if c.peer != "" {
					return n.Stats().Peers[c.peer].Refused[c.reason] == 1
				}
				return n.Stats().Strangers[c.reason] == 1
			})
			for name, p := range n.Stats().Peers {
				if name != c.peer && len(p.Refused) > 0 && p.Refused[mtls.Unreachable] == 0 {
					t.Errorf("%s is blamed for %v", name, p.Refused)
				}
			}
		})
	}
}

func TestWhoDoesNotSpeakTLS13(t *testing.T) {
	t.Parallel()
	n := listen(t, mtls.Config{Self: "a", Key: identity(t, "a")})
	n.run(t)
	old := &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12, Certificates: []tls.Certificate{shown(t, identity(t, "x"))}}
	if _, err := (&tls.Dialer{Config: old}).DialContext(t.Context(), "tcp", n.Addr().String()); err == nil {
		t.Error("a client of TLS 1.2 was let in")
	}
	eventually(t, "TLS 1.2 is counted", func() bool { return n.Stats().Strangers[mtls.OldTLS] == 1 })
	plain, err := net.Dial("tcp", n.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	_, _ = io.WriteString(plain, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	eventually(t, "HTTP is counted", func() bool { return n.Stats().Strangers[mtls.NoTLS] == 1 })
	gone, err := net.Dial("tcp", n.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = gone.Close()
	eventually(t, "who left is counted", func() bool { return n.Stats().Strangers[mtls.Silent] == 1 })
}

// impostor runs node a, which knows a peer b, and returns a stream of somebody who has b's key.
func impostor(t *testing.T) (a *node, b mtls.Raw) {
	t.Helper()
	a, show := knowing(t)
	return a, raw(t, a, show)
}

// knowing runs node a, which knows a peer b, and returns what b shows.
func knowing(t *testing.T) (a *node, show tls.Certificate) {
	t.Helper()
	a = listen(t, mtls.Config{Self: "a", Key: identity(t, "a")})
	key := identity(t, "b")
	i, err := mtls.LoadIdentity(key, "")
	if err != nil {
		t.Fatal(err)
	}
	a.cfg.Peers = []mtls.Peer{{Name: "b", URL: "https://127.0.0.1:1", Key: i.Fingerprint().String()}}
	a.reload(t)
	a.run(t)
	return a, mtls.CertificateOf(i)
}

func raw(t *testing.T, n *node, show tls.Certificate, others ...connect.ClientOption) mtls.Raw {
	t.Helper()
	link, err := call(t, n, show)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	t.Cleanup(cancel)
	stream, err := mtls.NewRaw(ctx, link, others...)
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

// A peer speaks only as itself, and in words that can be read. (I10)
func TestWhatAPeerMustNotSay(t *testing.T) {
	t.Parallel()
	right := mtls.HelloOf(mtls.Version, "b", nil)
	many := transport.Claims{}
	for i := range 1025 {
		many[fmt.Sprint(i)] = nil
	}
	for what, c := range map[string]struct {
		packets [][]byte
		reason  mtls.Reason
	}{
		"another's name":       {[][]byte{mtls.HelloOf(mtls.Version, "c", nil)}, mtls.OtherName},
		"its receiver's name":  {[][]byte{mtls.HelloOf(mtls.Version, "a", nil)}, mtls.OtherName},
		"another version":      {[][]byte{mtls.HelloOf(mtls.Version+1, "b", nil)}, mtls.OtherVersion},
		"no hello":             {[][]byte{mtls.BatchOf("s", nil, 1)}, mtls.Malformed},
		"a hello cut off":      {[][]byte{right[:len(right)-1]}, mtls.Malformed},
		"a claim too many":     {[][]byte{mtls.HelloOf(mtls.Version, "b", map[string]transport.Claims{"s": many})}, mtls.Malformed},
		"nothing":              {[][]byte{{}}, mtls.Malformed},
		"a batch cut off":      {[][]byte{right, append(mtls.BatchOf("x", nil, 1), 200)}, mtls.Malformed},
		"a kind unknown":       {[][]byte{right, {9}}, mtls.Malformed},
		"another name, later":  {[][]byte{right, mtls.HelloOf(mtls.Version, "c", nil)}, mtls.OtherName},
		"a packet too large":   {[][]byte{right, mtls.BatchOf("s", make([]byte, transport.MostBody), 2)}, mtls.Malformed},
		"a subject too long":   {[][]byte{right, mtls.BatchOf(string(make([]byte, 65)), nil, 1)}, mtls.Malformed},
		"a body over the most": {[][]byte{right, mtls.BatchOf("", make([]byte, transport.MostBody+1), 1)}, mtls.Malformed},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			a, b := impostor(t)
			line := open(t, a)
			for _, packet := range c.packets {
				_ = b.Packet(packet)
			}
			for {
				if _, err := b.Hear(); err != nil {
					break
				}
			}
			eventually(t, string(c.reason), func() bool { return a.Stats().Peers["b"].Refused[c.reason] == 1 })
			if len(line.Inbox()) > 0 {
				t.Errorf("it was delivered: %+v", <-line.Inbox())
			}
		})
	}
}

// A node that is refused learns it, and why as far as the other side says so.
func TestBothSidesLearnOfARefusal(t *testing.T) {
	t.Parallel()
	a, b := listen(t, mtls.Config{Self: "a", Key: identity(t, "a")}), listen(t, mtls.Config{Self: "b", Key: identity(t, "b")})
	c := listen(t, mtls.Config{Self: "c", Key: identity(t, "c")})
	other := pinned(c)
	other.Name = "sea" // a calls c by another name
	moved := pinned(b)
	moved.Name, moved.Key = "d", "sha256:"+fmt.Sprintf("%064d", 1)
	a.cfg.Peers = []mtls.Peer{pinned(b), other, moved}
	c.cfg.Peers = []mtls.Peer{pinned(a)}
	for _, n := range []*node{a, b, c} {
		n.reload(t)
		n.run(t)
	}
	eventually(t, "b refuses a", func() bool {
		return a.Stats().Peers["b"].Refused[mtls.RefusedUs] > 0 && b.Stats().Strangers[mtls.UnknownKey] > 0
	})
	eventually(t, "c does not bear a name of a's choice", func() bool {
		return a.Stats().Peers["sea"].Refused[mtls.OtherName] > 0
	})
	eventually(t, "who answers for d is b", func() bool { return a.Stats().Peers["d"].Refused[mtls.OtherName] > 0 })
}

// Nothing is unpacked: a few bytes could become many.
func TestCompressionIsRefused(t *testing.T) {
	t.Parallel()
	a, show := knowing(t)
	b := raw(t, a, show, connect.WithAcceptCompression("gzip", func() connect.Decompressor { return &gzip.Reader{} }, func() connect.Compressor { return gzip.NewWriter(nil) }), connect.WithSendGzip())
	_ = b.Packet(mtls.HelloOf(mtls.Version, "b", nil))
	if packet, err := b.Hear(); connect.CodeOf(err) != connect.CodeUnimplemented {
		t.Errorf("heard %q, error %v; want it unimplemented", packet, err)
	}
}

// A peer that is refused reads why, though it has sent something that nobody read.
func TestARefusalIsRead(t *testing.T) {
	t.Parallel()
	n := listen(t, mtls.Config{Self: "a", Key: identity(t, "a")})
	n.run(t)
	show := shown(t, identity(t, "x"))
	for range 50 {
		link, err := call(t, n, show)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = link.Write(make([]byte, 30<<10))
		_, _ = link.Write(make([]byte, 30<<10))
		if _, err := link.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "remote error: tls: ") {
			t.Fatalf("got error %v, want that of the other side", err)
		}
	}
}
