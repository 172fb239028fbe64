package mtls_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/tls"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/transport/mtls"
)

// clock is by how much the clock is ahead by which an endpoint judges certificates.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time           { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) turn(ahead time.Duration) { c.ahead.Store(int64(ahead)) }

// judging makes a node of a CA that logs, and looks at its clock all the time.
func judging(t *testing.T, authority *ca, name string, until time.Duration) (*node, *clock, *lines) {
	t.Helper()
	p, c := &lines{}, &clock{}
	key, certificate, _ := authority.issue(t, -time.Minute, until, name)
	n := listen(t, mtls.Config{Self: name, Key: key, Certificate: certificate, CA: authority.file, Log: slog.New(slog.NewTextHandler(p, nil))})
	n.Judge(c.now)
	return n, c, p
}

// What a handshake has verified is not believed for ever: a connection ends with the certificate of its peer, or with what has signed
// that, and both sides say whose it was and where it is to be renewed.
func TestTheEndOfACertificateEndsConnections(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		until       time.Duration // of the certificates; their CA lasts an hour
		here, there string        // what the two sides say
	}{
		"the certificate": {30 * time.Minute, "the certificate of b ended ", "this node's own certificate, in "},
		"its CA":          {3 * time.Hour, `the certificate of b is signed by that of \"CN=test CA\", which ended `, "nothing can be sent to the peer"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			authority := authority(t)
			a, clocksA, logA := judging(t, authority, "a", c.until)
			b, clocksB, logB := judging(t, authority, "b", c.until)
			a.cfg.Peers = []mtls.Peer{{Name: "b", URL: "https://" + b.Addr().String()}}
			b.cfg.Peers = []mtls.Peer{pinned(a)}
			for _, n := range []*node{a, b} {
				n.reload(t)
				n.run(t)
			}
			connected(t, a, b)
			if ends := a.Stats().Peers["b"].CertificateEnds; ends.Before(time.Now().Add(20*time.Minute)) || ends.After(time.Now().Add(time.Hour)) {
				t.Errorf("the proof of b ends at %v", ends)
			}
			clocksA.turn(2 * time.Hour)
			clocksB.turn(2 * time.Hour)
			eventually(t, "both are apart", func() bool {
				p, q := a.Stats().Peers["b"], b.Stats().Peers["a"]
				return !p.Connected && !p.Heard && !q.Connected && !q.Heard && p.Away == mtls.Expired && p.Refused[mtls.Expired] > 0
			})
			eventually(t, "a blames b", func() bool { return logA.count(c.here) > 0 })
			eventually(t, "b blames itself", func() bool { return logB.count(c.there) > 0 })
			clocksA.turn(0)
			clocksB.turn(0)
			connected(t, a, b)
		})
	}
}

// A guest is known by the CA alone, so its time counts too.
func TestTheEndOfAGuest(t *testing.T) {
	t.Parallel()
	authority, clock := authority(t), &clock{}
	a := listen(t, func() mtls.Config {
		key, certificate, _ := authority.issue(t, -time.Minute, time.Hour, "a")
		return mtls.Config{Self: "a", Key: key, Certificate: certificate, CA: authority.file, Roam: true, Keepalive: unhurried}
	}())
	a.Judge(clock.now)
	a.run(t)
	g := guest(t, authority, "g", mtls.Config{}) // for ten minutes
	g.Connect("a", a.Addr().String())
	_, _ = said(t, g, "+a"), said(t, a, "+g")
	clock.turn(30 * time.Minute)
	_, _ = said(t, g, "-a"), said(t, a, "-g")
	g.Connect("a", a.Addr().String())
	_ = said(t, g, "-a")
}

// Dates around a pinned key keep nobody out: who has the key can write any. So neither a wrong clock nor a certificate that nobody
// renewed cuts off a node that is known by its key.
func TestAPinnedKeyHasNoEnd(t *testing.T) {
	t.Parallel()
	authority, clock := authority(t), &clock{}
	a := listen(t, mtls.Config{Self: "a", Key: identity(t, "a")})
	a.Judge(clock.now)
	key, certificate, _ := authority.issue(t, -time.Minute, time.Hour, "b")
	b := listen(t, mtls.Config{Self: "b", Key: key, Certificate: certificate, Peers: []mtls.Peer{pinned(a)}})
	b.Judge(clock.now)
	b.run(t)
	a.cfg.Peers = []mtls.Peer{pinned(b)}
	a.reload(t)
	a.run(t)
	connected(t, a, b)
	kept := a.Connections("b")
	for _, ahead := range []time.Duration{-40 * 365 * 24 * time.Hour, 3 * time.Hour} {
		clock.turn(ahead)
		a.reload(t) // which proves all anew
		b.reload(t)
		for at := range kept {
			if !a.Connections("b")[at] {
				t.Errorf("with a clock that is %v ahead a connection has ended", ahead)
			}
		}
		if _, err := call(t, a, fromFiles(t, key, certificate)); err != nil {
			t.Error(err)
		}
	}
	if p := a.Stats().Peers["b"]; len(p.Refused) > 0 || !p.CertificateEnds.IsZero() {
		t.Errorf("b is %+v", p)
	}
}

// Files that have changed are read again without a reload: short certificates are renewed every day, and what a CA's file no longer
// has is not believed until somebody thinks of it. A file that cannot be used yet, or that has another key, changes nothing.
func TestChangedFilesAreReadAgain(t *testing.T) {
	t.Parallel()
	one, two := authority(t), authority(t)
	a, _, log := judging(t, one, "a", time.Hour)
	b := signed(t, one, "b")
	meet(t, a, b)
	kept := a.Connections("b")
	overwrite(t, a.cfg.Certificate, []byte("half of"))
	eventually(t, "a waits for the rest", func() bool { return log.count("has no certificate") > 0 })
	id, _ := mtls.LoadIdentity(a.cfg.Key, "")
	private, _ := mtls.CertificateOf(id).PrivateKey.(*ecdsa.PrivateKey)
	renewed, want := one.sign(t, private, -time.Hour, 2*time.Hour, "a")
	text, err := os.ReadFile(renewed)
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, a.cfg.Certificate, text)
	eventually(t, "a shows the new certificate", func() bool {
		link, err := call(t, a) // as a stranger: of too many connections of b the oldest would go
		return err == nil && bytes.Equal(link.ConnectionState().PeerCertificates[0].Raw, want.Certificate[0])
	})
	for at := range kept {
		if !a.Connections("b")[at] {
			t.Error("a connection has ended, and nothing of b has changed")
		}
	}
	overwrite(t, a.cfg.CA, two.pem)
	eventually(t, "nobody of the old CA is connected", func() bool {
		p := a.Stats().Peers["b"]
		return !p.Connected && !p.Heard && p.Away == mtls.OtherCA
	})
	other, _, _ := two.issue(t, -time.Hour, time.Hour, "a")
	text, err = os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	a.cfg.Certificate = "" // the key alone says who it is
	a.reload(t)
	overwrite(t, a.cfg.Key, text)
	eventually(t, "another key is not taken in silence", func() bool { return log.count("has another key") > 0 })
}

func overwrite(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// fromFiles returns what an identity with a certificate shows.
func fromFiles(t *testing.T, key, certificate string) tls.Certificate {
	t.Helper()
	i, err := mtls.LoadIdentity(key, certificate)
	if err != nil {
		t.Fatal(err)
	}
	return mtls.CertificateOf(i)
}

// connected waits until two nodes are connected in both directions.
func connected(t *testing.T, a, b *node) {
	t.Helper()
	eventually(t, a.Self()+" and "+b.Self()+" are connected", func() bool {
		one, two := a.Stats().Peers[b.Self()], b.Stats().Peers[a.Self()]
		return one.Connected && one.Heard && two.Connected && two.Heard && len(a.Connections(b.Self())) == 2
	})
}

// A peer that is removed, or whose fingerprint has changed, is disconnected; the others keep their connections.
func TestReloadDisconnectsOnlyWhoChanged(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(a, b *node){
		"removed": func(a, b *node) {
			a.cfg.Peers = slices.DeleteFunc(slices.Clone(a.cfg.Peers), func(p mtls.Peer) bool { return p.Name == "b" })
		},
		"another key": func(a, b *node) {
			a.cfg.Peers = slices.Clone(a.cfg.Peers)
			for i, p := range a.cfg.Peers {
				if p.Name == "b" {
					a.cfg.Peers[i].Key = "sha256:" + strings.Repeat("0a", 32)
				}
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			all := network(t, "a", "b", "c")
			a, b, c := all["a"], all["b"], all["c"]
			for _, pair := range [][2]*node{{a, b}, {b, c}, {a, c}} {
				connected(t, pair[0], pair[1])
			}
			kept := a.Connections("c")
			was := a.cfg
			change(a, b)
			a.reload(t)
			eventually(t, "b has lost a", func() bool {
				p := b.Stats().Peers["a"]
				return !p.Connected && !p.Heard && len(a.Connections("b")) == 0
			})
			if now := a.Connections("c"); !maps.Equal(now, kept) {
				t.Errorf("the connections with c were %v, and are %v", kept, now)
			}
			a.cfg = was
			a.reload(t)
			connected(t, a, b)
		})
	}
}

// A node's new certificate is shown at the next handshake, and no connection ends for it.
func TestReloadRenewsTheOwnCertificate(t *testing.T) {
	t.Parallel()
	authority := authority(t)
	a, b := signed(t, authority, "a"), signed(t, authority, "b")
	meet(t, a, b)
	kept := a.Connections("b")
	key, _ := mtls.LoadIdentity(a.cfg.Key, a.cfg.Certificate)
	private, _ := mtls.CertificateOf(key).PrivateKey.(*ecdsa.PrivateKey)
	renewed, shown := authority.sign(t, private, -time.Hour, time.Hour, "a")
	a.cfg.Certificate = renewed
	a.reload(t)
	if now := a.Connections("b"); !maps.Equal(now, kept) {
		t.Errorf("the connections with b were %v, and are %v", kept, now)
	}
	link, err := call(t, a, mtls.CertificateOf(key))
	if err != nil {
		t.Fatal(err)
	}
	if got := link.ConnectionState().PeerCertificates[0].Raw; string(got) != string(shown.Certificate[0]) {
		t.Error("a new connection is shown the old certificate")
	}
}

// A CA that is no longer trusted takes its peers along.
func TestReloadReadsTheCAAgain(t *testing.T) {
	t.Parallel()
	right, wrong := authority(t), authority(t)
	a, b := signed(t, right, "a"), signed(t, right, "b")
	meet(t, a, b)
	if err := os.WriteFile(right.file, wrong.pem, 0o600); err != nil {
		t.Fatal(err)
	}
	a.reload(t)
	eventually(t, "a refuses b", func() bool {
		return len(a.Connections("b")) == 0 && a.Stats().Peers["b"].Refused[mtls.OtherCA] > 0
	})
}

// signed returns an endpoint whose certificate is of a CA, by which it knows others.
func signed(t *testing.T, authority *ca, name string) *node {
	t.Helper()
	key, certificate, _ := authority.issue(t, -time.Minute, time.Hour, name)
	return listen(t, mtls.Config{Self: name, Key: key, Certificate: certificate, CA: authority.file})
}

// meet connects two of them.
func meet(t *testing.T, a, b *node) {
	t.Helper()
	a.cfg.Peers = []mtls.Peer{{Name: b.Self(), URL: "https://" + b.Addr().String()}}
	b.cfg.Peers = []mtls.Peer{{Name: a.Self(), URL: "https://" + a.Addr().String()}}
	for _, n := range []*node{a, b} {
		n.reload(t)
		n.run(t)
	}
	connected(t, a, b)
}

// A configuration with a fault changes nothing.
func TestReloadRefuses(t *testing.T) {
	t.Parallel()
	all := network(t, "a", "b")
	a, b := all["a"], all["b"]
	connected(t, a, b)
	kept := a.Connections("b")
	for says, change := range map[string]func(*mtls.Config){
		"cannot change while the node runs": func(c *mtls.Config) { c.Listen = "127.0.0.1:1" },
		"start it again":                    func(c *mtls.Config) { c.Self = "z" },
		"there is no key":                   func(c *mtls.Config) { c.Key, c.Peers = c.Key+"x", nil },
		"no such file":                      func(c *mtls.Config) { c.Peers = []mtls.Peer{{Name: "b", URL: c.Peers[0].URL, CA: "/none/ca.pem"}} },
		"has the key of this node itself": func(c *mtls.Config) {
			c.Peers = []mtls.Peer{{Name: "c", URL: c.Peers[0].URL, Key: a.Fingerprint().String()}}
		},
		"neither Key nor CA": func(c *mtls.Config) { c.Peers = []mtls.Peer{{Name: "b", URL: c.Peers[0].URL}} },
	} {
		c := a.cfg
		change(&c)
		if err := a.Reload(c); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got error %v, want one that says %q", err, says)
		}
	}
	if now := a.Connections("b"); !maps.Equal(now, kept) {
		t.Errorf("the connections with b were %v, and are %v", kept, now)
	}
}

// A peer that has moved is found at its new address.
func TestReloadFollowsAnAddress(t *testing.T) {
	t.Parallel()
	all := network(t, "a", "b")
	a, b := all["a"], all["b"]
	connected(t, a, b)
	detour := newProxy(t, b.Addr().String())
	a.cfg.Peers[0].URL = "https://" + detour.Addr().String()
	a.reload(t)
	eventually(t, "a goes by the new address while the old one still works", func() bool {
		for link := range a.Connections("b") {
			if strings.HasSuffix(link, " "+detour.Addr().String()) {
				return a.Stats().Peers["b"].Connected
			}
		}
		return false
	})
	b.stop()
	again := listen(t, b.cfg) // on another port
	again.reload(t)
	again.run(t)
	a.cfg.Peers = []mtls.Peer{pinned(again)}
	a.reload(t)
	connected(t, a, again)
	until(t, open(t, a), "b", open(t, again), "welcome back")
}
