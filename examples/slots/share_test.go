package slots_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/examples/slots"
	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/sequencertest"
	"github.com/conchhq/conch/transport/memory"
)

// key signs for an organisation.
type key ed25519.PrivateKey

// Sign implements sequencer.Keys.
func (k key) Sign(h ledger.Hash) ([]byte, error) {
	return ed25519.Sign(ed25519.PrivateKey(k), h[:]), nil
}

// keyOf returns an organisation's key, and its account: the public key.
func keyOf(name string) (key, ledger.Account) {
	seed := sha256.Sum256([]byte(name))
	private := ed25519.NewKeyFromSeed(seed[:])
	return key(private), ledger.Account(private.Public().(ed25519.PublicKey))
}

const contract = "0xa9e2"

// yard is a warehouse and its haulers, each with a node of its own.
type yard struct {
	t     *testing.T
	nodes map[string]*sequencer.Node
	asked int
}

// share runs the nodes of organisations, the first of which has the warehouse. Two have to endorse.
func share(ctx context.Context, t *testing.T, running *sync.WaitGroup, names ...string) *yard {
	t.Helper()
	y := &yard{t: t, nodes: map[string]*sequencer.Node{}}
	_, warehouse := keyOf(names[0])
	rules := slots.New(warehouse)
	declared := ledger.Contract{Chain: 1, Address: contract, Needed: 2, Range: 50, Depth: 2, Life: 20, Domain: rules.Domain()}
	for _, name := range names {
		_, account := keyOf(name)
		declared.Members = append(declared.Members, account)
	}
	declared.Committee = declared.Members
	if err := declared.Validate(); err != nil {
		t.Fatal(err)
	}
	chain := sequencertest.NewChain(declared, ledger.Plain{})
	running.Go(func() { chain.Run(ctx, time.Second) })
	network := memory.New(1)
	for _, name := range names {
		keys, self := keyOf(name)
		cfg := sequencer.Config{
			Self: self, Keys: keys, Peers: map[ledger.Account]string{}, Transport: network.Join(name), Store: sequencertest.NewMemory(), Secret: sha256.Sum256([]byte("salts of " + name)),
			Contracts: []sequencer.Contract{{Declared: declared, Rules: rules, Scheme: ledger.Plain{}, Ledger: chain}},
		}
		for _, other := range names {
			if _, account := keyOf(other); other != name {
				cfg.Peers[account] = other
			}
		}
		node, err := sequencer.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		y.nodes[name] = node
		running.Go(func() { _ = node.Run(ctx) })
	}
	return y
}

// asks hands a request in at an organisation's own node, and returns the key under which it is known there.
func (y *yard) asks(ctx context.Context, name, request string) (string, ledger.Sequence) {
	y.t.Helper()
	y.asked++
	key := fmt.Sprint("request ", y.asked)
	s, err := y.nodes[name].Submit(ctx, contract, key, []byte(request), 0)
	if err != nil {
		y.t.Fatal(err)
	}
	return key, s
}

// ends waits until a request has ended, and reports whether it was confirmed.
func (y *yard) ends(ctx context.Context, name, key string) bool {
	y.t.Helper()
	result, err := y.nodes[name].Wait(ctx, contract, key)
	if err != nil {
		y.t.Fatalf("%s, %s: %v", name, key, err)
	}
	return result.Confirmed
}

func (y *yard) does(ctx context.Context, name, request string) {
	y.t.Helper()
	if key, _ := y.asks(ctx, name, request); !y.ends(ctx, name, key) {
		y.t.Errorf("%s asked for %s, which was reverted", name, request)
	}
}

// holder returns who holds a slot, as an organisation's own node knows it.
func (y *yard) holder(ctx context.Context, name string, slot int) string {
	y.t.Helper()
	states, err := y.nodes[name].States(ctx, contract, slots.Label("2026-11-30", slot), 2)
	if err != nil || len(states) != 1 {
		y.t.Fatalf("%s knows %d states of slot %d, want one: %v", name, len(states), slot, err)
	}
	holder, is := slots.HolderOf(states[0].Data)
	if !is {
		y.t.Fatalf("%s is no slot", states[0].Data)
	}
	return holder
}

func pass(slot int, to string) string {
	_, account := keyOf(to)
	return fmt.Sprintf(`{"do":"pass","day":"2026-11-30","slot":%d,"to":"%v"}`, slot, account)
}

// P28, P36: a slot goes from hand to hand, and never from a hand that does not hold it, nor once its day is closed.
func TestHaulersShareAYard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		var running sync.WaitGroup
		defer running.Wait()
		defer stop()
		y := share(ctx, t, &running, "yard", "north", "east")
		y.does(ctx, "yard", `{"do":"open","day":"2026-11-30","slots":2}`)
		y.does(ctx, "yard", pass(1, "north"))
		y.does(ctx, "north", pass(1, "east"))

		// North had it. It may get it back, so what it asks for waits, and is carried out then.
		late, _ := y.asks(ctx, "north", pass(1, "yard"))
		y.does(ctx, "east", pass(1, "north"))
		if !y.ends(ctx, "north", late) {
			t.Error("north got the slot back, and what it asked for was reverted")
		}

		y.does(ctx, "yard", pass(2, "east"))
		y.does(ctx, "yard", `{"do":"close","day":"2026-11-30"}`)
		_, east := keyOf("east")
		if got := y.holder(ctx, "yard", 2); got != east.String() {
			t.Errorf("in slot 2 %s delivers, want %v", got, east)
		}
		key, sequence := y.asks(ctx, "east", pass(2, "north"))
		time.Sleep(time.Minute)
		if err := y.nodes["east"].Cancel(ctx, contract, sequence); err != nil {
			t.Fatal(err)
		}
		if y.ends(ctx, "east", key) {
			t.Error("a slot was passed on after its day was closed")
		}
		if key, _ = y.asks(ctx, "north", `{"do":"open","day":"2026-12-01","slots":2}`); y.ends(ctx, "north", key) {
			t.Error("a hauler opened a day")
		}
	})
}
