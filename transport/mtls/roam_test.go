package mtls_test

import (
	"bytes"
	"cmp"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/transport/mtls"
	"github.com/conchhq/conch/transport/transporttest"
)

func TestExerciseRoaming(t *testing.T) {
	t.Parallel()
	for how, run := range map[string]func(t testing.TB, names ...string) map[string]*node{"Pinned": roamers, "Guests": guests} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			transporttest.ExerciseRoaming(t, func(t *testing.T, names ...string) map[string]transporttest.Roamer {
				t.Helper()
				all := map[string]transporttest.Roamer{}
				for name, n := range run(t, names...) {
					all[name] = roamer(n)
				}
				return all
			})
		})
	}
}

func roamer(n *node) transporttest.Roamer {
	return transporttest.Roamer{Roamer: n.Endpoint, Address: n.Addr().String(), Key: n.Fingerprint(), Kill: n.stop}
}

// unhurried is so long that no machine is too busy to show that it lives.
const unhurried = 10 * time.Second

// roamers runs endpoints that pin each other and come and go.
func roamers(t testing.TB, names ...string) map[string]*node {
	t.Helper()
	all := map[string]*node{}
	for _, name := range names {
		all[name] = listen(t, mtls.Config{Self: name, Key: identity(t, name), Roam: true, Keepalive: unhurried})
	}
	for _, n := range all {
		for _, other := range all {
			if n != other {
				n.cfg.Peers = append(n.cfg.Peers, pinned(other))
			}
		}
		n.reload(t)
		n.run(t)
	}
	return all
}

// guests runs endpoints that know each other by a CA alone.
func guests(t testing.TB, names ...string) map[string]*node {
	t.Helper()
	all, ca := map[string]*node{}, authority(t)
	for _, name := range names {
		all[name] = guest(t, ca, name, mtls.Config{})
	}
	return all
}

func guest(t testing.TB, ca *ca, name string, c mtls.Config) *node {
	t.Helper()
	c.Self, c.Roam, c.CA, c.Keepalive = name, true, ca.file, cmp.Or(c.Keepalive, unhurried)
	c.Key, c.Certificate, _ = ca.issue(t, -time.Minute, 10*time.Minute, name)
	n := listen(t, c)
	n.run(t)
	return n
}

// Both connect at once, a thousand times, with messages both ways: one connection is left, and each side is told of one.
func TestBothConnectAtOnce(t *testing.T) {
	t.Parallel()
	times := 100
	if runtest.Whole() {
		times = 1000
	}
	all := roamers(t, "a", "b")
	a, b := all["a"], all["b"]
	transporttest.BothConnectAtOnce(t, roamer(a), roamer(b), times, func() {
		eventually(t, "one connection is left", func() bool { return len(a.Connections("b")) == 1 && len(b.Connections("a")) == 1 })
	})
	if one, two := a.Stats().Peers["b"], b.Stats().Peers["a"]; len(one.Refused)+len(two.Refused) > 0 || one.Received != uint64(5*times) || two.Received != uint64(5*times) {
		t.Errorf("a: %+v,\nb: %+v", one, two)
	}
}

// A node that is removed, or is no guest any more, is down at once on both sides; nobody else notices.
func TestReloadEndsConnections(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(c *mtls.Config, other *ca){
		"a peer is removed": func(c *mtls.Config, _ *ca) { c.Peers = slices.Delete(c.Peers, 0, 1) },
		"another CA":        func(c *mtls.Config, other *ca) { c.CA = other.file },
		"no CA":             func(c *mtls.Config, _ *ca) { c.CA = "" },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			ours, other := authority(t), authority(t)
			a := guest(t, ours, "a", mtls.Config{})
			pin := listen(t, mtls.Config{Self: "pin", Key: identity(t, "pin"), Roam: true})
			pin.cfg.Peers = []mtls.Peer{pinned(a)}
			pin.reload(t)
			pin.run(t)
			a.cfg.Peers = []mtls.Peer{pinned(pin)}
			a.reload(t)
			g := guest(t, ours, "g", mtls.Config{})
			for _, n := range []*node{pin, g} {
				n.Connect("a", a.Addr().String())
				_, _ = said(t, n, "+a"), said(t, a, "+"+n.Self())
			}
			gone, stays := g, pin
			if what == "a peer is removed" {
				gone, stays = pin, g
			}
			kept := a.Connections(stays.Self())
			change(&a.cfg, other)
			a.reload(t)
			_, _ = said(t, a, "-"+gone.Self()), said(t, gone, "-a")
			gone.Connect("a", a.Addr().String())
			_ = said(t, gone, "-a")
			a.Connect(gone.Self(), gone.Addr().String())
			_ = said(t, a, "-"+gone.Self())
			if links := stays.Links(); len(links) > 0 || len(kept) != 1 || len(a.Connections(stays.Self())) != 1 {
				t.Errorf("%s was told %v", stays.Self(), links)
			}
		})
	}
}

// A guest that becomes one of the peers keeps its connection, and what is known of it from then on.
func TestAGuestBecomesAPeer(t *testing.T) {
	t.Parallel()
	ca := authority(t)
	a, g := guest(t, ca, "a", mtls.Config{}), guest(t, ca, "g", mtls.Config{})
	g.Connect("a", a.Addr().String())
	_, _ = said(t, g, "+a"), said(t, a, "+g")
	at, from := open(t, a), open(t, g)
	a.cfg.Peers = []mtls.Peer{{Name: "g", URL: "https://" + g.Addr().String()}}
	a.reload(t)
	if err := from.Send("a", []byte("still here")); err != nil {
		t.Fatal(err)
	}
	_ = next(t, at)
	a.Disconnect("g")
	_ = said(t, g, "-a")
	eventually(t, "the connection is gone", func() bool { return len(a.Connections("g")) == 0 })
	if stats := a.Stats(); stats.Peers["g"].Received != 1 || stats.Gone.Received != 0 {
		t.Errorf("got %+v", stats)
	}
	a.Connect("g", "")
	_ = said(t, a, "+g")
	a.cfg.Rate = 1 << 20 // the rest of the configuration changes too
	a.cfg.Keepalive = time.Hour
	if err := a.Reload(a.cfg); err == nil {
		t.Error("Keepalive has changed while the node runs")
	}
}

// A second process with the identity of one that is connected is refused, and both sides say why: the node that is called
// names both hosts, and the second process learns that it is one of two.
func TestTwins(t *testing.T) {
	t.Parallel()
	ca := authority(t)
	var logA, logTwin bytes.Buffer // read when their nodes have ended
	key, certificate, _ := ca.issue(t, -time.Minute, 10*time.Minute, "b")
	start := func(c mtls.Config, log *bytes.Buffer) (*node, func()) {
		c.Roam, c.CA, c.Keepalive = true, ca.file, time.Second
		c.Log = slog.New(slog.NewTextHandler(log, nil))
		n := listen(t, c)
		n.run(t)
		return n, n.stop
	}
	keyA, certificateA, _ := ca.issue(t, -time.Minute, 10*time.Minute, "a")
	a, endA := start(mtls.Config{Self: "a", Key: keyA, Certificate: certificateA}, &logA)
	b, _ := start(mtls.Config{Self: "b", Key: key, Certificate: certificate}, new(bytes.Buffer))
	twin, endTwin := start(mtls.Config{Self: "b", Key: key, Certificate: certificate}, &logTwin)
	b.Connect("a", a.Addr().String())
	said(t, a, "+b")
	twin.Connect("a", a.Addr().String())
	said(t, twin, "-a")
	eventually(t, "it is counted", func() bool { return a.Stats().Peers["b"].Refused[mtls.Twin] >= 1 }) // it tries again meanwhile
	eventually(t, "the twin has heard that", func() bool {
		got := twin.Stats()
		return got.Gone.Refused[mtls.RefusedUs]+got.Peers["a"].Refused[mtls.RefusedUs] >= 1
	})
	if a, b, twin := a.Stats().Twins, b.Stats().Twins, twin.Stats().Twins; a+b != 0 || twin < 1 {
		t.Errorf("the twin counts %d calls of a second process, and the others %d", twin, a+b)
	}
	endA()
	endTwin()
	for _, part := range []string{"reason=twin", "two hosts have its key", "127.0.0.1:"} {
		if !strings.Contains(logA.String(), part) {
			t.Errorf("a does not say %q: %s", part, logA.String())
		}
	}
	if !strings.Contains(logTwin.String(), "two hosts have its key") {
		t.Errorf("the twin is not told: %s", logTwin.String())
	}
}
