package mtls_test

import (
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/transport/mtls"
)

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
