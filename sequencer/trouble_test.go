package sequencer_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/notes"
	"github.com/conchhq/conch/sequencer/wire"
	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/transport/memory"
)

// pairOf is a node, "member-1", with the contracts a and b. Member-2 is in both, member-3 in b alone, and both are the test.
type pairOf struct {
	t       *testing.T
	ctx     context.Context //nolint:containedctx // of the test
	network *memory.Network
	cfg     sequencer.Config
	node    *sequencer.Node
	ended   chan error
}

func newPairOf(t *testing.T) *pairOf {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	w := &pairOf{t: t, ctx: ctx, network: memory.New(7), ended: make(chan error, 1)}
	w.cfg = sequencer.Config{
		Self: account("member-1"), Keys: key("member-1"), Store: sequencer.NewMemory(), Transport: w.network.Join("member-1"), Secret: sha256.Sum256([]byte("1")),
		Peers: map[ledger.Account]string{account("member-2"): "member-2", account("member-3"): "member-3"}, Tick: 10 * time.Millisecond, SleepAfter: time.Minute,
	}
	var running sync.WaitGroup
	t.Cleanup(running.Wait)
	t.Cleanup(cancel)
	for i, members := range [][]ledger.Account{{account("member-1"), account("member-2")}, {account("member-1"), account("member-2"), account("member-3")}} {
		declared := ledger.Contract{
			Chain: uint64(i + 1), Address: []string{"a", "b"}[i], Members: members, Committee: members[:1], Needed: 1, Range: 1000, Depth: 2, Life: 50, Domain: "notes/1",
		}
		chain := sequencer.NewChain(declared, ledger.Plain{})
		running.Go(func() { chain.Run(ctx, 5*time.Millisecond) })
		w.cfg.Contracts = append(w.cfg.Contracts, sequencer.Contract{
			Declared: declared, Rules: notes.New(account("member-1")), Scheme: ledger.Plain{}, Ledger: chain, NudgeAfter: 50 * time.Millisecond,
		})
	}
	return w
}

func (w *pairOf) start() {
	w.t.Helper()
	node, err := sequencer.New(w.cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.node = node
	ctx, cancel := context.WithCancel(w.ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		w.ended <- node.Run(ctx)
	}()
	w.t.Cleanup(func() { cancel(); <-over })
}

// peer is a member that the test speaks for.
func (w *pairOf) peer(name string) transport.Line {
	w.t.Helper()
	if err := w.node.Cancel("b", ledger.Sequence{}); err != nil { // it waits until the node has begun
		w.t.Fatal(err)
	}
	line, err := w.network.Join(name).Open(sequencer.Subject)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(line.Close)
	return line
}

// lands fails the test unless an intent of the contract ends confirmed.
func (w *pairOf) lands(contract string) {
	w.t.Helper()
	if _, err := w.node.Submit(w.ctx, contract, "funds", []byte(`{"issue": {"to": "office", "amount": 5}}`), 0); err != nil {
		w.t.Fatalf("contract %s: %v", contract, err)
	}
	if r, err := w.node.Wait(w.ctx, contract, "funds"); err != nil || !r.Confirmed {
		w.t.Fatalf("in contract %s it ends as %+v, %v; want it confirmed", contract, r, err)
	}
}

func request(contract string, number uint64, body wire.Body) wire.Message {
	return wire.Message{Contract: contract, Request: wire.RequestID{Incarnation: wire.Incarnation{7}, Number: number}, Wait: time.Second, Body: body}
}

// stuck is a store that does not answer for one contract.
type stuck struct {
	sequencer.Store
	attempts, load bool

	mu    sync.Mutex
	loads map[string]int
}

func (s *stuck) Attempts(ctx context.Context, contract string, all []ledger.Hash) ([]wire.Whole, error) {
	if s.attempts && contract == "a" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Store.Attempts(ctx, contract, all)
}

func (s *stuck) Load(ctx context.Context, contract string) (sequencer.Stored, error) {
	s.mu.Lock()
	s.loads[contract]++
	again := s.loads[contract] > 1
	s.mu.Unlock()
	if s.load && again && contract == "a" {
		<-ctx.Done()
		return sequencer.Stored{}, ctx.Err()
	}
	return s.Store.Load(ctx, contract)
}

// I10: what is read for a member waits for the database. That takes no worker, of which others' signatures are made, and a
// member that asks for more at once is told that the node is busy.
func TestASlowReadHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	w := newPairOf(t)
	w.cfg.Store = &stuck{Store: w.cfg.Store, attempts: true, loads: map[string]int{}}
	w.start()
	line := w.peer("member-2")
	for i := range uint64(40) {
		send(t, line, request("a", i+1, wire.AskAttempts{Assembled: []ledger.Hash{{1}}}))
	}
	if answer := next[wire.Rejected](w.ctx, t, line); answer.Body.(wire.Rejected).Why != wire.Busy {
		t.Errorf("it answers %v, want busy", answer)
	}
	w.lands("b")
}

var errOther = errors.New("another database error")

// over is a store whose start is over.
type over struct{ sequencer.Store }

func (over) Write(context.Context, []sequencer.Change) ([]sequencer.Twice, error) {
	return nil, errors.Join(errOther, sequencer.ErrOver)
}

// P38: a node whose store will never take a write again stops, and says why; its users are told that it has.
func TestANodeStopsWhenItsStartIsOver(t *testing.T) {
	t.Parallel()
	w := newPairOf(t)
	w.cfg.Store = over{w.cfg.Store}
	w.start()
	if _, err := w.node.Submit(w.ctx, "a", "funds", []byte(`{"issue": {"to": "office", "amount": 5}}`), 0); !errors.Is(err, sequencer.ErrStopped) {
		t.Errorf("Submit: %v, want ErrStopped", err)
	}
	select {
	case err := <-w.ended:
		if !errors.Is(err, sequencer.ErrOver) || !errors.Is(err, errOther) {
			t.Errorf("Run: %v, want what the store said", err)
		}
	case <-w.ctx.Done():
		t.Error("the node goes on")
	}
}
