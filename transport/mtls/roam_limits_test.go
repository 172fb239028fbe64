package mtls_test

import (
	"context"
	"crypto/ecdsa"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/transport/mtls"
)

// A peer that goes silent, without an end of its connections, is noticed by its keepalive on both sides.
func TestASilentPeerIsDown(t *testing.T) {
	t.Parallel()
	ca := authority(t)
	quick := mtls.Config{Keepalive: time.Second}
	a, b := guest(t, ca, "a", quick), guest(t, ca, "b", quick)
	hole := newProxy(t, b.Addr().String())
	a.Connect("b", hole.Addr().String())
	_, _ = said(t, a, "+b"), said(t, b, "+a")
	hole.swallowed.Store(true)
	_, _ = said(t, a, "-b"), said(t, b, "-a")
	a.Connect("b", hole.Addr().String()) // nobody answers
	_ = said(t, a, "-b")
	hole.swallowed.Store(false)
	a.Connect("b", hole.Addr().String())
	_, _ = said(t, a, "+b"), said(t, b, "+a")
}

// A peer that has noticed the end of a connection calls again; the other side, which has not, takes the call when it has.
func TestOneSideNoticesFirst(t *testing.T) {
	t.Parallel()
	ca := authority(t)
	a, b := guest(t, ca, "a", mtls.Config{Keepalive: 3 * time.Second}), guest(t, ca, "b", mtls.Config{Keepalive: time.Second})
	hole := newProxy(t, b.Addr().String())
	a.Connect("b", hole.Addr().String())
	_, _ = said(t, a, "+b"), said(t, b, "+a")
	hole.swallowed.Store(true)
	_ = said(t, b, "-a")
	b.Connect("a", a.Addr().String())
	if got := said(t, a, "+b"); !strings.HasPrefix(got, "-b+b") {
		t.Errorf("a was told %s, want the end and the new one", got)
	}
	if got := said(t, b, "+a"); !strings.HasPrefix(got, "+a") {
		t.Errorf("b was told %s, want the new one", got)
	}
}

// A Disconnect while the other side says nothing is the end of it.
func TestADisconnectWhileItRings(t *testing.T) {
	t.Parallel()
	mute := somewhere(t)
	a := guest(t, authority(t), "a", mtls.Config{})
	a.Connect("b", mute.Addr().String())
	raw, err := mute.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	a.Disconnect("b")
	eventually(t, "nothing is left of the call", func() bool {
		peers, conns, sessions, calls, _ := a.Kept()
		return peers+conns+sessions+calls == 0
	})
	if links := a.Links(); len(links) > 0 {
		t.Errorf("a was told %v", links)
	}
}

// Calls before Run wait for it, unless they are taken back.
func TestCallsBeforeRun(t *testing.T) {
	t.Parallel()
	ca := authority(t)
	b := guest(t, ca, "b", mtls.Config{})
	c := mtls.Config{Self: "a", Roam: true, CA: ca.file}
	c.Key, c.Certificate, _ = ca.issue(t, -time.Minute, 10*time.Minute, "a")
	a := listen(t, c)
	a.Connect("b", b.Addr().String())
	a.Connect("x", b.Addr().String())
	a.Disconnect("x")
	a.run(t)
	if got := said(t, a, "+b"); got != "+b" {
		t.Errorf("a was told %s", got)
	}
}

// A node that ends a connection and stops at once has still said its last words; one that does not read them holds up nobody.
// It has a second for that, which beside other tests is too little for two processors; so it is not parallel.
func TestLastWords(t *testing.T) { //nolint:paralleltest // see above
	for i := range 30 {
		all := roamers(t, "a", "b")
		a, b := all["a"], all["b"]
		from, to := open(t, a), open(t, b)
		if i%2 == 0 {
			a.Connect("b", "")
		} else {
			b.Connect("a", "")
		}
		_, _ = said(t, a, "+b"), said(t, b, "+a")
		if err := from.Send("b", []byte("goodbye")); err != nil {
			t.Fatal(err)
		}
		a.Disconnect("b")
		a.stop()
		if got := next(t, to); string(got.Body) != "goodbye" {
			t.Errorf("b received %q", got.Body)
		}
		_ = said(t, b, "-a")
	}
}

// A peer that does not read is cut off when this node ends the connection, and when the peer does.
func TestAPeerThatDoesNotReadTheEnd(t *testing.T) {
	t.Parallel()
	for what, end := range map[string]func(a *node, g mtls.Raw){
		"ended here":  func(a *node, _ mtls.Raw) { a.Disconnect("g") },
		"ended there": func(_ *node, g mtls.Raw) { _ = g.CloseRequest() },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			a, g, _ := caller(t, authority(t), mtls.Config{})
			for _, packet := range [][]byte{mtls.HelloOf(mtls.Version, "g", nil), mtls.Confirmation} {
				if err := g.Packet(packet); err != nil {
					t.Fatal(err)
				}
			}
			_ = said(t, a, "+g")
			fillUp(t, a, "g")
			end(a, g)
			eventually(t, "it is cut off", func() bool {
				_, conns, sessions, _, _ := a.Kept()
				return conns+sessions == 0
			})
		})
	}
}

// fillUp sends to a peer until no more is taken.
func fillUp(t *testing.T, n *node, to string) {
	t.Helper()
	l := open(t, n)
	body := make([]byte, 100<<10)
	eventually(t, "the queue is full", func() bool { return l.Send(to, body) != nil })
}

// Guests are as many as the node allows; it may itself call more.
func TestTooManyGuests(t *testing.T) {
	t.Parallel()
	ca := authority(t)
	a := guest(t, ca, "a", mtls.Config{Guests: 2})
	var all []*node
	for i := range 4 {
		all = append(all, guest(t, ca, fmt.Sprint("g", i), mtls.Config{}))
	}
	a.Connect("g3", all[3].Addr().String()) // of those that it calls itself there may be more
	_, _ = said(t, a, "+g3"), said(t, all[3], "+a")
	for _, g := range all[:2] {
		g.Connect("a", a.Addr().String())
		_, _ = said(t, g, "+a"), said(t, a, "+"+g.Self())
	}
	all[2].Connect("a", a.Addr().String())
	_ = said(t, all[2], "-a")
	eventually(t, "one is refused", func() bool { return a.Stats().Strangers[mtls.Crowded] == 1 })
	eventually(t, "it is told why", func() bool { return all[2].Stats().Gone.Refused[mtls.Crowded] == 1 })
	eventually(t, "nothing is kept of it", func() bool { return a.Away() == 0 })
	a.Connect("g2", all[2].Addr().String())
	_, _ = said(t, a, "+g2"), said(t, all[2], "+a")
	a.Disconnect("g0")
	a.Disconnect("g2")
	_, _ = said(t, all[0], "-a"), said(t, all[2], "-a")
	eventually(t, "there is room again", func() bool { peers, _, _, _, _ := a.Kept(); return peers == 2 })
	all[2].Connect("a", a.Addr().String())
	_ = said(t, a, "+g2")
}

// A stream holds its peer: what was being read of a guest when its connection ended is in the sum of those that are gone.
func TestAStreamHoldsItsPeer(t *testing.T) {
	t.Parallel()
	a, g, _ := caller(t, authority(t), mtls.Config{})
	first := open(t, a)
	batch := mtls.BatchOf("s", nil, 1)
	const each, sleepers = 1100, 8 // more than wait for one reader; each that sleeps holds the stream up for half a second
	for i := range sleepers {
		subject := fmt.Sprint("asleep", i)
		l, err := a.Open(subject)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(l.Close)
		batch = append(batch, mtls.BatchOf(subject, nil, each)[1:]...)
	}
	for _, packet := range [][]byte{mtls.HelloOf(mtls.Version, "g", nil), mtls.Confirmation, batch} {
		if err := g.Packet(packet); err != nil {
			t.Fatal(err)
		}
	}
	_ = next(t, first)
	_ = g.Link.Close()
	eventually(t, "the connection is gone", func() bool { _, conns, _, _, _ := a.Kept(); return conns == 0 })
	eventually(t, "the guest is gone, and all of it is counted", func() bool {
		peers, _, _, _, _ := a.Kept()
		return peers == 0 && a.Stats().Gone.Received == 1+each*sleepers
	})
}

// Of guests that come and go nothing is kept but sums: two hundred of them, and a thousand at night.
func TestGuestsComeAndGo(t *testing.T) {
	t.Parallel()
	ca := authority(t)
	a := guest(t, ca, "a", mtls.Config{})
	at := open(t, a)
	_, _, shows := ca.issue(t, -time.Minute, time.Hour, "any")
	private, _ := shows.PrivateKey.(*ecdsa.PrivateKey)
	many := runtest.ByDay(200, 1000)
	for i := range many {
		name := fmt.Sprint("g", i)
		_, show := ca.sign(t, private, -time.Minute, time.Hour, name)
		link, err := call(t, a, show)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		g, err := mtls.NewRawRoaming(ctx, link)
		if err != nil {
			t.Fatal(err)
		}
		for _, packet := range [][]byte{mtls.HelloOf(mtls.Version, name, nil), mtls.Confirmation, mtls.BatchOf("s", nil, 1)} {
			if err := g.Packet(packet); err != nil {
				t.Fatal(err)
			}
		}
		if got := next(t, at); got.From != name {
			t.Fatalf("a message of %s, want %s", got.From, name)
		}
		cancel()
		if told := said(t, a, "-"+name); told != "+"+name+"-"+name && told != "-"+name {
			t.Fatalf("a was told %s of %s", told, name)
		}
	}
	eventually(t, "nothing is kept, and all debts are paid", func() bool {
		peers, conns, sessions, calls, debts := a.Kept()
		return peers+conns+sessions+calls+debts == 0
	})
	if gone := a.Stats().Gone; gone.Received != uint64(many) || len(gone.Refused) > 0 {
		t.Errorf("the sum of all is %+v", gone)
	}
}

// A guest that floods is braked, costs the others nothing, and is braked on when it comes again.
func TestAGuestThatFloods(t *testing.T) {
	t.Parallel()
	ca := authority(t)
	a, g, again := caller(t, ca, mtls.Config{Rate: 64 << 10}) // a packet is paid for in twenty seconds
	at := open(t, a)
	meet := func(r mtls.Raw) {
		for _, packet := range [][]byte{mtls.HelloOf(mtls.Version, "g", nil), mtls.Confirmation} {
			if err := r.Packet(packet); err != nil {
				t.Fatal(err)
			}
		}
		_ = said(t, a, "+g")
	}
	meet(g)
	var flooding sync.WaitGroup
	flooding.Go(func() {
		var err error
		for err == nil {
			err = g.Packet(mtls.BatchOf("s", make([]byte, 1000), 1000))
		}
	})
	eventually(t, "g is braked", func() bool { return a.Stats().Peers["g"].Braked > 0 })
	calm := guest(t, ca, "calm", mtls.Config{})
	from := open(t, calm)
	calm.Connect("a", a.Addr().String())
	_ = said(t, calm, "+a")
	for i := range 20 {
		if err := from.Send("a", fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
		for e := next(t, at); e.From != "calm" || string(e.Body) != fmt.Sprint(i); e = next(t, at) {
			if e.From == "calm" {
				t.Fatalf("got %q of calm, want %d", e.Body, i)
			}
		}
	}
	_ = g.Link.Close()
	flooding.Wait()
	_ = said(t, a, "-g")
	eventually(t, "g is gone", func() bool { _, there := a.Stats().Peers["g"]; return !there })
	g = again()
	meet(g)
	if err := g.Packet(mtls.BatchOf("s", nil, 1)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its message is read", func() bool { return a.Stats().Peers["g"].Received == 1 })
	eventually(t, "g owes for what it sent before", func() bool { return a.Stats().Peers["g"].Braked > 0 })
	if stats := a.Stats().Peers["calm"]; stats.Dropped > 0 || stats.Braked > 0 {
		t.Errorf("calm pays for it: %+v", stats)
	}
}

// A node calls from the address that it was told to.
func TestTheSource(t *testing.T) {
	t.Parallel()
	other, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Skip("this system has one loopback address:", err)
	}
	other.Close()
	there := somewhere(t)
	a := guest(t, authority(t), "a", mtls.Config{Source: "127.0.0.2"})
	a.Connect("b", there.Addr().String())
	raw, err := there.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if from, _, _ := net.SplitHostPort(raw.RemoteAddr().String()); from != "127.0.0.2" {
		t.Errorf("a calls from %s", from)
	}
	if err := (mtls.Config{Self: "a", Listen: ":0", Key: "k", Source: "here"}).Validate(); err == nil {
		t.Error("a source that is no address was taken")
	}
}

// What others name as an address is not of this host, also when it is a name: then it is known when the name has been looked up.
func TestANameThatLeadsToThisHost(t *testing.T) {
	t.Parallel()
	ca := authority(t)
	b := guest(t, ca, "b", mtls.Config{})
	_, port, _ := net.SplitHostPort(b.Addr().String())
	for what, c := range map[string]struct {
		cfg     mtls.Config
		address string
		want    string
	}{
		"a name":                   {mtls.Config{Outward: true}, "localhost:" + port, "-b"},
		"an address":               {mtls.Config{Outward: true}, "127.0.0.1:" + port, "-b"},
		"of one's own":             {mtls.Config{Outward: true, Peers: []mtls.Peer{{Name: "b", URL: "https://localhost:" + port}}}, "", "+b"},
		"of one's own, named":      {mtls.Config{Outward: true, Peers: []mtls.Peer{{Name: "b", URL: "https://localhost:" + port}}}, "localhost:" + port, "+b"},
		"beside one's own":         {mtls.Config{Outward: true, Peers: []mtls.Peer{{Name: "b", URL: "https://localhost:" + port}}}, "127.0.0.1:" + port, "-b"},
		"of a node that is inward": {mtls.Config{}, "localhost:" + port, "+b"},
	} {
		a := guest(t, ca, "a", c.cfg)
		a.Connect("b", c.address)
		if got := said(t, a, "b"); got != c.want {
			t.Errorf("%s: a was told %s, want %s", what, got, c.want)
		}
		a.stop()
		eventually(t, "b has seen its end", func() bool { return len(b.Peers()) == 0 })
	}
}
