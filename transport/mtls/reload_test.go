package mtls_test

import (
	"crypto/ecdsa"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/transport/mtls"
)

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
