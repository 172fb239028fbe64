package sequencer_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/notes"
	"github.com/conchhq/conch/sequencer/sequencertest"
	"github.com/conchhq/conch/transport/memory"
)

// Five organisations share a contract of notes. The bank issues some, and two members pay out of the same purse at once.
// Nobody is elected; the base ledger takes each intent once.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()

	network := memory.New(1)
	names := []string{"bank", "north", "east", "south", "west"}
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
		for _, other := range names {
			if other != name {
				peers[account(other)] = other
			}
		}
		node, err := sequencer.New(sequencer.Config{
			Self: account(name), Keys: key(name), Peers: peers, Transport: network.Join(name),
			Store: sequencertest.NewMemory(), Secret: sha256.Sum256([]byte("salts of " + name)),
			Contracts: []sequencer.Contract{{
				Declared: declared, Rules: notes.New(account("bank")), Scheme: ledger.Plain{}, Ledger: chain,
				NudgeAfter: 100 * time.Millisecond,
			}},
		})
		if err != nil {
			log.Fatal(err)
		}
		nodes[name] = node
		running.Go(func() { _ = node.Run(ctx) })
	}

	submit := func(by, id, request string) {
		if _, err := nodes[by].Submit(ctx, "petty cash", id, []byte(request), 0); err != nil {
			log.Fatal(err)
		}
	}
	submit("bank", "funds", `{"issue": {"to": "office", "amount": 100}}`)
	submit("north", "coffee", `{"pay": {"from": "office", "to": "baker", "amount": 30}}`)
	submit("east", "paper", `{"pay": {"from": "office", "to": "printer", "amount": 45}}`)
	for _, intent := range [][2]string{{"bank", "funds"}, {"north", "coffee"}, {"east", "paper"}} {
		result, err := nodes[intent[0]].Wait(ctx, "petty cash", intent[1])
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(intent[1], "is confirmed:", result.Confirmed)
	}
	// Output:
	// funds is confirmed: true
	// coffee is confirmed: true
	// paper is confirmed: true
}

// key is an organisation's.
type key string

func (k key) private() ed25519.PrivateKey {
	seed := sha256.Sum256([]byte(k))
	return ed25519.NewKeyFromSeed(seed[:])
}

// Sign implements sequencer.Keys.
func (k key) Sign(h ledger.Hash) ([]byte, error) { return ed25519.Sign(k.private(), h[:]), nil }

// account is a public key, in the scheme ledger.Plain.
func account(name string) ledger.Account {
	public, _ := key(name).private().Public().(ed25519.PublicKey)
	return ledger.Account(public)
}
