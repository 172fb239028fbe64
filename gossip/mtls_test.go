package gossip_test

import (
	"context"
	"crypto"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/gossip/internal/wire"
	"github.com/conchhq/conch/transport/mtls"
)

// process is an agent with a real identity and real connections.
type process struct {
	name  string
	key   gossip.Subject
	sign  crypto.Signer
	end   *mtls.Endpoint
	agent *gossip.Agent
	dead  bool
	kill  func() // ends its connections, and then the rest
}

// processes starts so many agents over loopback. They know each other by fingerprints; the first three are electors, and
// the only ones that the others know where to find.
func processes(t *testing.T, n int) (all []*process) {
	all = prepared(t, n, 20) // a busy machine misses beats
	for _, p := range all {
		p.run(t)
	}
	return all
}

// prepared makes such agents, which do not run yet.
func prepared(t *testing.T, n, diameter int) (all []*process) {
	folder := t.TempDir()
	var peers []mtls.Peer
	for i := range n {
		p := &process{name: fmt.Sprint("n", i+1)}
		id, err := mtls.CreateIdentity(filepath.Join(folder, p.name))
		if err != nil {
			t.Fatal(err)
		}
		p.sign = id.Signer()
		if p.key, err = gossip.SubjectOf(p.sign); err != nil {
			t.Fatal(err)
		}
		if p.key != gossip.Subject(id.Fingerprint()) {
			t.Fatalf("the subject of %s is not its fingerprint", p.name)
		}
		all = append(all, p)
		peers = append(peers, mtls.Peer{Name: p.name, Key: id.Fingerprint().String()})
	}
	var electors []wire.Subject
	var known []gossip.Peer
	for i, p := range all {
		others := append(append([]mtls.Peer{}, peers[:i]...), peers[i+1:]...)
		end, err := mtls.New(mtls.Config{Self: p.name, Listen: "127.0.0.1:0", Key: filepath.Join(folder, p.name), Peers: others, Roam: true})
		if err != nil {
			t.Fatal(err)
		}
		if p.end = end; i < 3 {
			electors = append(electors, p.key)
			known = append(known, gossip.Peer{Name: p.name, Address: end.Addr().String(), Subject: p.key})
		}
	}
	for i, p := range all {
		c := gossip.Config{
			Transport: p.end, Address: p.end.Addr().String(), Key: p.sign, Peers: known,
			Namespaces: []gossip.Namespace{{Name: "site", Electors: electors, Diameter: diameter}},
		}
		if i < 3 {
			c.Peers = append(append([]gossip.Peer{}, known[:i]...), known[i+1:]...)
		}
		a, err := gossip.New(c)
		if err != nil {
			t.Fatal(err)
		}
		p.agent = a
	}
	return all
}

func (p *process) run(t *testing.T) {
	online, cut := context.WithCancel(context.Background())
	alive, stop := context.WithCancel(context.Background())
	down, over := make(chan error, 1), make(chan error, 1)
	go func() { down <- p.end.Run(online) }()
	go func() { over <- p.agent.Run(alive) }()
	p.kill = func() {
		if p.dead {
			return
		}
		p.dead = true
		cut()
		<-down
		stop()
		if err := <-over; err != nil {
			t.Errorf("%s: %v", p.name, err)
		}
	}
	t.Cleanup(p.kill)
}

// eventually waits until something is so of all that live.
func eventually(ctx context.Context, t *testing.T, all []*process, what string, is func(p *process, s gossip.Status) bool) {
	t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		wrong := slices.IndexFunc(all, func(p *process) bool { return !p.dead && !is(p, p.agent.Status()) })
		if wrong < 0 {
			return
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			t.Fatalf("it is not so at %s that %s: %+v", all[wrong].name, what, all[wrong].agent.Status())
		}
	}
}

// Ten agents over real TLS: all name one leader; it is killed, and all name one other. What one says all hear. Subjects are
// fingerprints, and a leader has its name (B19).
func TestTenOverTLS(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	all := processes(t, 10)
	names := map[wire.Subject]string{}
	for _, p := range all {
		names[p.key] = p.name
	}
	leads := func(_ *process, s gossip.Status) bool {
		l, one := s.Hints[0].Leader, all[9].agent.Status().Hints[0].Leader
		return l.Name != "" && l.Name == one.Name && l.Proven && names[l.Subject] == l.Name
	}
	eventually(ctx, t, all, "all have one leader", leads)
	first := all[9].agent.Status().Hints[0].Leader.Name
	for _, p := range all {
		if p.name == first {
			p.kill()
		}
	}
	eventually(ctx, t, all, "another one leads", func(p *process, s gossip.Status) bool {
		return leads(p, s) && s.Hints[0].Leader.Name != first
	})
	if err := all[8].agent.Publish("site", "flag", []byte("on")); err != nil {
		t.Fatal(err)
	}
	eventually(ctx, t, all, "there is news", func(_ *process, s gossip.Status) bool {
		return len(s.News) == 1 && string(s.News[0].Body) == "on" && s.News[0].Subject.Subject == all[8].key
	})
	for _, p := range all {
		if p.dead {
			continue
		}
		if c := p.agent.Status().Counts; c.BytesSent == 0 || c.BytesReceived == 0 {
			t.Errorf("%s has counted %+v", p.name, c)
		}
	}
}
