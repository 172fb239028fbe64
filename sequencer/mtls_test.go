package sequencer_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/notes"
	"github.com/conchhq/conch/sequencer/sequencertest"
	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/transport/mtls"
)

// tlsNetwork runs an endpoint for each name, on loopback, which pin each other's keys.
func tlsNetwork(ctx context.Context, t *testing.T, running *sync.WaitGroup, names ...string) (all map[string]*mtls.Endpoint, configs map[string]mtls.Config) {
	t.Helper()
	all, configs = map[string]*mtls.Endpoint{}, map[string]mtls.Config{}
	for _, name := range names {
		c := mtls.Config{Self: name, Listen: "127.0.0.1:0", Key: filepath.Join(t.TempDir(), name+".pem")}
		if _, err := mtls.CreateIdentity(c.Key); err != nil {
			t.Fatal(err)
		}
		e, err := mtls.New(c)
		if err != nil {
			t.Fatal(err)
		}
		all[name], configs[name] = e, c
	}
	for _, name := range names {
		c := configs[name]
		for _, other := range names {
			if other != name {
				e := all[other]
				c.Peers = append(c.Peers, mtls.Peer{Name: other, URL: "https://" + e.Addr().String(), Key: e.Fingerprint().String()})
			}
		}
		configs[name] = c
		if err := all[name].Reload(c); err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			if err := all[name].Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	return all, configs
}

// The five organisations of the example, over sockets: every member may spend what another has made, and each intent is
// confirmed. Before each intent its organisation loses all its connections. (P28, P43, I2)
func TestFiveOrganisationsOverTLS(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()

	names := []string{"bank", "north", "east", "south", "west"}
	network, configs := tlsNetwork(ctx, t, &running, names...)
	declared := ledger.Contract{Chain: 1, Address: "petty cash", Needed: 3, Range: 100, Depth: 1, Life: 50, Domain: "notes/1"}
	for _, name := range names {
		declared.Members = append(declared.Members, account(name))
	}
	declared.Committee = declared.Members
	chain := sequencertest.NewChain(declared, ledger.Plain{})
	running.Go(func() { chain.Run(ctx, 20*time.Millisecond) })

	nodes := map[string]*sequencer.Node{}
	for _, name := range names {
		peers := map[ledger.Account]string{}
		for _, other := range network[name].Peers() {
			peers[account(other)] = other
		}
		node, err := sequencer.New(sequencer.Config{
			Self: account(name), Keys: key(name), Peers: peers, Transport: transport.Endpoint(network[name]),
			Store: sequencertest.NewMemory(), Secret: sha256.Sum256([]byte("salts of " + name)),
			Contracts: []sequencer.Contract{{
				Declared: declared, Rules: notes.New(account("bank")), Scheme: ledger.Plain{}, Ledger: chain,
				NudgeAfter: 100 * time.Millisecond,
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		nodes[name] = node
		running.Go(func() { _ = node.Run(ctx) })
	}

	for _, intent := range []struct{ by, id, request string }{
		{"bank", "funds", `{"issue": {"to": "office", "amount": 100}}`},
		{"north", "coffee", `{"pay": {"from": "office", "to": "baker", "amount": 30}}`},
		{"east", "paper", `{"pay": {"from": "office", "to": "printer", "amount": 45}}`},
		{"west", "rent", `{"pay": {"from": "office", "to": "landlord", "amount": 20}}`},
	} {
		alone := configs[intent.by]
		alone.Peers = nil
		if err := errors.Join(network[intent.by].Reload(alone), network[intent.by].Reload(configs[intent.by])); err != nil {
			t.Fatal(err)
		}
		if _, err := nodes[intent.by].Submit(ctx, "petty cash", intent.id, []byte(intent.request), 0); err != nil {
			t.Fatal(err)
		}
		result, err := nodes[intent.by].Wait(ctx, "petty cash", intent.id)
		if err != nil || !result.Confirmed {
			t.Fatalf("%s of %s: %+v, error %v; want it confirmed", intent.id, intent.by, result, err)
		}
	}
	for name, e := range network {
		heard := uint64(0)
		for peer, s := range e.Stats().Peers {
			if heard += s.Received; s.Dropped > 0 || s.Full > 0 {
				t.Errorf("%s and %s: %+v", name, peer, s)
			}
		}
		if heard == 0 {
			t.Errorf("%s has heard nobody", name)
		}
	}
}
