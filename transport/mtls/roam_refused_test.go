package mtls_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/transport/mtls"
)

// said returns what a node is told, each "+" or "-" and the peer, until that is there.
func said(t testing.TB, n *node, until string) (all string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s is told %s", n.Self(), until), func() bool {
		for _, l := range n.Links() {
			all += map[bool]string{true: "+", false: "-"}[l.Up] + l.Peer
		}
		return strings.Contains(all, until)
	})
	return all
}

// A node that is refused as a guest is a stranger, whatever name its certificate has; only that of a peer is blamed on the peer.
func TestWhoIsNoGuest(t *testing.T) {
	t.Parallel()
	right, wrong := authority(t), authority(t)
	issue := func(c *ca, from, until time.Duration, names ...string) tls.Certificate {
		_, _, shown := c.issue(t, from, until, names...)
		return shown
	}
	past, future := -time.Hour, time.Hour
	for what, c := range map[string]struct {
		show   tls.Certificate
		peer   string
		reason mtls.Reason
	}{
		"of another CA":          {issue(wrong, past, future, "guest"), "", mtls.OtherCA},
		"expired":                {issue(right, 2*past, past, "guest"), "", mtls.Expired},
		"two names":              {issue(right, past, future, "guest", "other"), "", mtls.OtherName},
		"no name":                {issue(right, past, future), "", mtls.UnknownKey},
		"a pattern":              {issue(right, past, future, "*.test"), "", mtls.OtherName},
		"a name too long":        {issue(right, past, future, strings.Repeat("x", 65)), "", mtls.OtherName},
		"the node's own name":    {issue(right, past, future, "a"), "", mtls.OtherName},
		"a pinned peer's name":   {issue(right, past, future, "pinned"), "pinned", mtls.WrongKey},
		"a pinned one's besides": {issue(right, past, future, "guest", "pinned"), "pinned", mtls.WrongKey},
		"nobody's key":           {shown(t, identity(t, "x")), "", mtls.UnknownKey},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			a := listen(t, mtls.Config{Self: "a", Key: identity(t, "a"), CA: right.file, Roam: true})
			a.cfg.Peers = []mtls.Peer{{Name: "pinned", Key: "sha256:" + fmt.Sprintf("%064d", 1)}}
			a.reload(t)
			a.run(t)
			if link, err := call(t, a, c.show); err == nil {
				if _, err := link.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
					t.Errorf("the connection goes on: error %v", err)
				}
			}
			eventually(t, string(c.reason), func() bool {
				if c.peer != "" {
					return a.Stats().Peers[c.peer].Refused[c.reason] == 1
				}
				return a.Stats().Strangers[c.reason] == 1
			})
			if peers, _, _, _, _ := a.Kept(); peers != 1 || len(a.Links()) > 0 {
				t.Errorf("%d peers are kept, want the pinned one, and nothing is told", peers)
			}
		})
	}
}

// A node without Config.CA has no guests, in either direction.
func TestNoGuestsWithoutACA(t *testing.T) {
	t.Parallel()
	ca := authority(t)
	b := guest(t, ca, "b", mtls.Config{})
	c := mtls.Config{Self: "a", Roam: true}
	c.Key, c.Certificate, _ = ca.issue(t, -time.Minute, 10*time.Minute, "a")
	a := listen(t, c)
	a.run(t)
	a.Connect("b", b.Addr().String())
	if got := said(t, a, "-b"); got != "-b" {
		t.Errorf("a was told %s", got)
	}
	b.Connect("a", a.Addr().String())
	_ = said(t, b, "-a")
	eventually(t, "a refuses b", func() bool { return a.Stats().Strangers[mtls.UnknownKey] == 1 })
}

// Who answers at an address is somebody else: the log names both, and it is counted.
func TestAWrongAddress(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var text bytes.Buffer
	log := slog.New(slog.NewTextHandler(writer(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return text.Write(p)
	}), nil))
	ca := authority(t)
	a, b := guest(t, ca, "a", mtls.Config{Log: log}), guest(t, ca, "b", mtls.Config{})
	a.Connect("c", b.Addr().String())
	if got := said(t, a, "-c"); got != "-c" {
		t.Errorf("a was told %s", got)
	}
	eventually(t, "it is counted", func() bool { return a.Stats().Gone.Refused[mtls.OtherName] == 1 })
	mu.Lock()
	defer mu.Unlock()
	if got := text.String(); !strings.Contains(got, "peer=c") || !strings.Contains(got, `who answers there is peer \"b\"`) {
		t.Errorf("the log says %s", got)
	}
	if got := b.Stats().Peers; len(got) > 0 || len(b.Links()) > 0 {
		t.Errorf("b keeps %v", got)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// A node that roams and one that does not are no use to each other, and both say so.
func TestOnlyOneRoams(t *testing.T) {
	t.Parallel()
	a, b := listen(t, mtls.Config{Self: "a", Key: identity(t, "a"), Roam: true}), listen(t, mtls.Config{Self: "b", Key: identity(t, "b")})
	a.cfg.Peers, b.cfg.Peers = []mtls.Peer{pinned(b)}, []mtls.Peer{pinned(a)}
	for _, n := range []*node{a, b} {
		n.reload(t)
		n.run(t)
	}
	eventually(t, "b says so", func() bool { return b.Stats().Peers["a"].Refused[mtls.OtherVersion] > 0 })
	a.Connect("b", "")
	_ = said(t, a, "-b")
	eventually(t, "a says so", func() bool { return a.Stats().Peers["b"].Refused[mtls.OtherVersion] > 0 })
	a.cfg.Roam = false
	if err := a.Reload(a.cfg); err == nil {
		t.Error("Roam has changed while the node runs")
	}
}

// caller runs a node that knows a CA, and returns a stream of a guest of it.
func caller(t *testing.T, ca *ca, c mtls.Config) (a *node, g mtls.Raw, again func() mtls.Raw) {
	t.Helper()
	a = guest(t, ca, "a", c)
	_, _, show := ca.issue(t, -time.Minute, 10*time.Minute, "g")
	again = func() mtls.Raw {
		link, err := call(t, a, show)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
		t.Cleanup(cancel)
		stream, err := mtls.NewRawRoaming(ctx, link)
		if err != nil {
			t.Fatal(err)
		}
		return stream
	}
	return a, again(), again
}

// ends waits for the end of a connection.
func ends(r mtls.Raw) {
	for {
		if _, err := r.Hear(); err != nil {
			return
		}
	}
}

// A caller must say hello, and confirm; what it says otherwise ends the connection, and nobody is told of it.
func TestWhatACallerMustNotSay(t *testing.T) {
	t.Parallel()
	right := mtls.HelloOf(mtls.Version, "g", nil)
	for what, c := range map[string]struct {
		packets [][]byte
		told    string
		reason  mtls.Reason
	}{
		"another's name":             {[][]byte{mtls.HelloOf(mtls.Version, "b", nil)}, "", mtls.OtherName},
		"no hello":                   {[][]byte{mtls.BatchOf("s", nil, 1)}, "", mtls.Malformed},
		"a message before it":        {[][]byte{right, mtls.BatchOf("s", nil, 1)}, "", mtls.Malformed},
		"a hello again":              {[][]byte{right, right}, "", mtls.Malformed},
		"nothing":                    {[][]byte{right, {}}, "", mtls.Malformed},
		"a kind unknown, when it is": {[][]byte{right, mtls.Confirmation, {9}}, "+g-g", mtls.Malformed},
		"another name, when it is":   {[][]byte{right, mtls.Confirmation, mtls.HelloOf(mtls.Version, "b", nil)}, "+g-g", mtls.OtherName},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			a, g, _ := caller(t, authority(t), mtls.Config{})
			line := open(t, a)
			for _, packet := range c.packets {
				_ = g.Packet(packet)
			}
			ends(g)
			_ = g.Link.Close()
			eventually(t, string(c.reason), func() bool { return a.Stats().Gone.Refused[c.reason] == 1 })
			if got := said(t, a, ""); got != c.told {
				t.Errorf("a was told %q, want %q", got, c.told)
			}
			if len(line.Inbox()) > 0 {
				t.Errorf("it was delivered: %+v", <-line.Inbox())
			}
		})
	}
}

// A caller that gives up before it has confirmed was never there; nor was one that says nothing.
func TestACallerThatGivesUp(t *testing.T) {
	t.Parallel()
	a, g, again := caller(t, authority(t), mtls.Config{})
	if err := g.Packet(mtls.HelloOf(mtls.Version, "g", nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Hear(); err != nil {
		t.Fatal(err)
	}
	next := again() // waits for the end of the one before
	if err := next.Packet(mtls.HelloOf(mtls.Version, "g", nil)); err != nil {
		t.Fatal(err)
	}
	_ = g.Link.Close()
	if _, err := next.Hear(); err != nil {
		t.Fatal(err)
	}
	if len(a.Links())+len(a.Peers()) > 0 {
		t.Error("a was told of a call that is not confirmed")
	}
	if err := next.Packet(mtls.Confirmation); err != nil {
		t.Fatal(err)
	}
	if got := said(t, a, "+g"); got != "+g" {
		t.Errorf("a was told %s, want one Up", got)
	}
	_ = next.Link.Close()
	_ = said(t, a, "-g")
	silent := again()
	if err := silent.Send(nil); err != nil {
		t.Fatal(err)
	}
	ends(silent)
	_ = silent.Link.Close()
	eventually(t, "it is found silent", func() bool { return a.Stats().Gone.Refused[mtls.Silent] == 1 })
}

// Nodes that roam call each other at one time, and call off what is needless: a connection that ends before it has said who it is
// was no stranger. One that says nothing until its time is over is.
func TestACallThatIsCalledOffIsNoStranger(t *testing.T) {
	t.Parallel()
	a := listen(t, mtls.Config{Self: "a", Key: identity(t, "a"), Roam: true})
	a.run(t)
	dial := func() net.Conn {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", a.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	silent := dial()
	_ = dial().Close()
	_ = dial().Close()
	_ = silent.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := silent.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the silent one is told %v, want the end", err)
	}
	eventually(t, "the silent one is counted", func() bool { return a.Stats().Strangers[mtls.Silent] > 0 }) // after its end
	if n := a.Stats().Strangers[mtls.Silent]; n != 1 {
		t.Errorf("%d strangers are counted, want the silent one alone", n)
	}
}
