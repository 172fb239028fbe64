// Package grouptest runs the nodes of some organisations in one process, and kills them wherever one can die.
package grouptest

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/notes"
	"github.com/conchhq/conch/sequencer/sequencertest"
	"github.com/conchhq/conch/transport/memory"
)

// Group is some organisations that share a contract of notes, a network and a ledger in memory. Their databases outlive
// their nodes.
type Group struct {
	Chain   *sequencertest.Chain
	Members []*Member

	t        testing.TB
	network  *memory.Network
	declared ledger.Contract
}

// Member is one organisation. Its methods may be called by several goroutines.
type Member struct {
	Name string
	Keys sequencer.Keys // replace them before a start

	group *Group
	begin Begin

	mu   sync.Mutex
	node *sequencer.Node
	stop func()
}

// Begin returns the store for a start of a node, with all that its database has. It returns nil if the test is over.
type Begin func(ctx context.Context) sequencer.Store

// NewGroup makes a group whose nodes do not run yet, over a network that loses and doubles messages. Open makes a member's
// database. All is stopped when the test ends.
func NewGroup(t testing.TB, members int, open func(member int) Begin) *Group {
	t.Helper()
	g := &Group{t: t, network: memory.New(7)}
	g.network.SetFaults(memory.Faults{Loss: 0.01, Double: 0.01, Least: 100 * time.Microsecond, Most: 2 * time.Millisecond})
	g.declared = ledger.Contract{Chain: 1, Address: "k", Needed: members/2 + 1, Range: 1000, Depth: 2, Life: 50, Domain: "notes/1"}
	for i := range members {
		m := &Member{Name: fmt.Sprintf("member-%d", i+1), group: g, begin: open(i)}
		m.Keys = key(m.Name)
		g.Members = append(g.Members, m)
		g.declared.Members = append(g.declared.Members, account(m.Name))
	}
	g.declared.Committee = g.declared.Members
	g.Chain = sequencertest.NewChain(g.declared, ledger.Plain{})
	ctx, stop := context.WithCancel(context.Background())
	var mining sync.WaitGroup
	mining.Go(func() { g.Chain.Run(ctx, 10*time.Millisecond) })
	t.Cleanup(func() {
		for _, m := range g.Members {
			m.Halt()
		}
		stop()
		mining.Wait()
	})
	return g
}

// Start starts the member's node from what its database has.
func (m *Member) Start(ctx context.Context) {
	store := m.begin(ctx)
	if store == nil {
		return
	}
	g := m.group
	peers := map[ledger.Account]string{}
	for _, other := range g.Members {
		if other != m {
			peers[account(other.Name)] = other.Name
		}
	}
	node, err := sequencer.New(sequencer.Config{
		Self: account(m.Name), Keys: m.Keys, Peers: peers, Transport: g.network.Join(m.Name), Store: store,
		Secret: sha256.Sum256([]byte(m.Name)), Tick: 10 * time.Millisecond,
		Contracts: []sequencer.Contract{{
			Declared: g.declared, Rules: notes.New(account(g.Members[0].Name)), Scheme: ledger.Plain{}, Ledger: g.Chain, NudgeAfter: 100 * time.Millisecond,
		}},
	})
	if err != nil {
		g.t.Error(err)
		return
	}
	running, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { _ = node.Run(running) })
	m.mu.Lock()
	defer m.mu.Unlock()
	m.node, m.stop = node, func() { cancel(); group.Wait() }
}

// Leave takes the member's node out of the group without stopping it, as if it were frozen: another one starts in its place.
// It returns what stops it.
func (m *Member) Leave() (stop func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	stop, m.stop = m.stop, nil
	return stop
}

// Halt stops the node in the middle of whatever it does. What was not committed is lost.
func (m *Member) Halt() {
	if stop := m.Leave(); stop != nil {
		stop()
	}
}

func (m *Member) running() *sequencer.Node {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.node
}

// Submit hands an intent in, and again as long as the node is stopped. The key says what the intent is.
func (m *Member) Submit(ctx context.Context, key, request string) (ledger.Intent, error) {
	for {
		if node := m.running(); node != nil {
			s, err := node.Submit(ctx, "k", key, []byte(request), 0)
			if err == nil || ctx.Err() != nil || !errors.Is(err, sequencer.ErrStopped) {
				return ledger.Intent{Owner: account(m.Name), Sequence: s}, err
			}
		}
		if err := pause(ctx); err != nil {
			return ledger.Intent{}, err
		}
	}
}

// Confirmed waits until an intent has ended, and returns an error unless it is confirmed, and the ledger has it.
func (m *Member) Confirmed(ctx context.Context, key string, in ledger.Intent) error {
	for {
		r, err := m.running().Wait(ctx, "k", key)
		if err == nil {
			if assembled, _, is := m.group.Chain.Landed(in); !r.Confirmed || !is || assembled != r.Assembled {
				return fmt.Errorf("%s of %s ends as %+v, and the chain has %v, %v", key, m.Name, r, assembled, is)
			}
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s of %s has not ended: %w", key, m.Name, err)
		}
		if err := pause(ctx); err != nil { // the node is stopped, or its database does not answer
			return err
		}
	}
}

func pause(ctx context.Context) error {
	select {
	case <-time.After(5 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Taken returns how many entries the ledger has taken.
func (g *Group) Taken() (n int) {
	head, _, _ := g.Chain.Head(context.Background()) // it cannot fail
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	_ = g.Chain.Follow(ctx, 0, func(in any) {
		b, is := in.(ledger.Block)
		if !is {
			return
		}
		for _, f := range b.Facts {
			if f.Skipped == ledger.Taken {
				n++
			}
		}
		if b.Number >= head {
			stop()
		}
	})
	return n
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
