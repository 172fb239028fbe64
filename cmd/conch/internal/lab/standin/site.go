package standin

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/notes"
	"github.com/conchhq/conch/sequencer/sequencertest"
	"github.com/conchhq/conch/transport/memory"
)

// Address is the contract's.
const Address = "bench"

// Config describes a site.
type Config struct {
	Scheme    Scheme
	Members   []string      // the first one issues the notes
	Committee []string      // those that may coordinate
	Needed    int           // endorsements
	Block     time.Duration // between two blocks
}

// Site is a contract, its members' network and its ledger. What was started on it ends with Close.
type Site struct {
	Config
	Ledger *Ledger

	declared ledger.Contract
	network  *memory.Network
	ctx      context.Context //nolint:containedctx // of all that was started, which ends with Close
	stop     func()
	running  sync.WaitGroup
}

// Open opens a site without nodes.
func Open(ctx context.Context, cfg Config) *Site {
	s := &Site{Config: cfg, network: memory.New(1)}
	s.ctx, s.stop = context.WithCancel(ctx)
	s.declared = ledger.Contract{Chain: 1, Address: Address, Needed: cfg.Needed, Range: 1_000_000, Depth: 1, Life: 1000, Domain: notes.Name}
	for _, name := range cfg.Members {
		s.declared.Members = append(s.declared.Members, cfg.Scheme.Key(name).Account)
	}
	for _, name := range cfg.Committee {
		s.declared.Committee = append(s.declared.Committee, cfg.Scheme.Key(name).Account)
	}
	s.Ledger = newLedger(s.declared, cfg.Scheme)
	s.running.Go(func() { s.Ledger.run(s.ctx, cfg.Block) })
	return s
}

// Close ends all that was started.
func (s *Site) Close() {
	s.stop()
	s.running.Wait()
}

// Options are what a node has beside its defaults.
type Options struct {
	Stepped func(machine string, took time.Duration)
	Quiet   func(kind string) bool // a message that the node is not to send any more, nor any after it: see sequencertest.Look
}

// Node is a member's node.
type Node struct {
	*sequencer.Node

	stop  func()
	ended chan struct{}
	line  *mute
}

// Stop stops the node where it stands.
func (n *Node) Stop() { n.stop(); <-n.ended }

// Silent returns a channel that is closed when the node has fallen silent.
func (n *Node) Silent() <-chan struct{} { return n.line.silent }

// Node starts a member's node, with an empty store.
func (s *Site) Node(name string, o Options) (*Node, error) {
	key := s.Scheme.Key(name)
	peers := map[ledger.Account]string{}
	for i, other := range s.Members {
		if other != name {
			peers[s.declared.Members[i]] = other
		}
	}
	line := &mute{Endpoint: s.network.Join(name), until: o.Quiet, silent: make(chan struct{})}
	node, err := sequencer.New(sequencer.Config{
		Self: key.Account, Keys: key, Peers: peers, Transport: line, Store: sequencertest.NewMemory(),
		Secret: sha256.Sum256([]byte(name)), Stepped: o.Stepped,
		Contracts: []sequencer.Contract{{
			Declared: s.declared, Rules: notes.New(s.declared.Members[0]), Scheme: s.Scheme, Ledger: s.Ledger,
		}},
	})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(s.ctx)
	n := &Node{Node: node, stop: stop, ended: make(chan struct{}), line: line}
	s.running.Go(func() {
		defer close(n.ended)
		_ = node.Run(ctx) // it ends with the context
	})
	return n, nil
}

// Issue makes a note for each purse, and returns when the node has confirmed all.
func (s *Site) Issue(ctx context.Context, n *Node, purses []string) error {
	purses = slices.Compact(slices.Sorted(slices.Values(purses)))
	return each(ctx, len(purses), func(ctx context.Context, i int) error {
		return confirmed(ctx, n, "funds of "+purses[i], fmt.Sprintf(`{"issue":{"to":%q,"amount":1000000000}}`, purses[i]))
	})
}

// each does something for each number at once, and returns the first error.
func each(ctx context.Context, many int, do func(ctx context.Context, i int) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var group sync.WaitGroup
	for i := range many {
		group.Go(func() {
			if err := do(ctx, i); err != nil {
				stop(err)
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

// confirmed hands an intent in and waits until it has landed for good.
func confirmed(ctx context.Context, n *Node, key, request string) error {
	if _, err := n.Submit(ctx, Address, key, []byte(request), 0); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	r, err := n.Wait(ctx, Address, key)
	if err == nil && !r.Confirmed {
		err = fmt.Errorf("it ended reverted: %s", r.Why)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}
