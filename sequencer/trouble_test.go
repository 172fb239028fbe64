package sequencer_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/notes"
	"github.com/conchhq/conch/sequencer/sequencertest"
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
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	w := &pairOf{t: t, ctx: ctx, network: memory.New(7), ended: make(chan error, 1)}
	w.cfg = sequencer.Config{
		Self: account("member-1"), Keys: key("member-1"), Store: sequencertest.NewMemory(), Transport: w.network.Join("member-1"), Secret: sha256.Sum256([]byte("1")),
		Peers: map[ledger.Account]string{account("member-2"): "member-2", account("member-3"): "member-3"}, Tick: 10 * time.Millisecond, SleepAfter: time.Minute, ShareFor: time.Millisecond,
	}
	var running sync.WaitGroup
	t.Cleanup(running.Wait)
	t.Cleanup(cancel)
	for i, members := range [][]ledger.Account{{account("member-1"), account("member-2")}, {account("member-1"), account("member-2"), account("member-3")}} {
		declared := ledger.Contract{
			Chain: uint64(i + 1), Address: []string{"a", "b"}[i], Members: members, Committee: members[:1], Needed: 1, Range: 1000, Depth: 2, Life: 50, Domain: "notes/1",
		}
		chain := sequencertest.NewChain(declared, ledger.Plain{})
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
	if err := w.node.Cancel(w.ctx, "b", ledger.Sequence{}); err != nil { // it waits until the node has begun
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

func (s *stuck) Load(ctx context.Context, contract string) (core.Stored, error) {
	s.mu.Lock()
	s.loads[contract]++
	again := s.loads[contract] > 1
	s.mu.Unlock()
	if s.load && again && contract == "a" {
		<-ctx.Done()
		return core.Stored{}, ctx.Err()
	}
	return s.Store.Load(ctx, contract)
}

// I10: what is read for a member waits for the database. That takes no worker, of which others' signatures are made, and a
// member that asks for more at once is told that the node is busy.
func TestASlowReadHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	w := newPairOf(t)
	w.cfg.Store, w.cfg.Workers = &stuck{Store: w.cfg.Store, attempts: true, loads: map[string]int{}}, 1
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

func (over) Write(context.Context, []core.Change) ([]core.Twice, error) {
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

// away is a ledger that does not answer until it is back.
type away struct {
	sequencer.Ledger
	back chan struct{}
}

func (a away) Head(ctx context.Context) (head, final uint64, err error) {
	select {
	case <-a.back:
		return a.Ledger.Head(ctx)
	case <-ctx.Done():
		return 0, 0, ctx.Err()
	}
}

// I10: a contract whose chain is away when the node starts waits for it alone. What happens in it meanwhile waits with it.
func TestAChainThatIsAwayHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	w := newPairOf(t)
	chain := away{w.cfg.Contracts[0].Ledger, make(chan struct{})}
	w.cfg.Contracts[0].Ledger = chain
	w.start()
	w.lands("b")
	early := make(chan error, 1)
	go func() {
		_, err := w.node.Submit(w.ctx, "a", "early", []byte(`{"issue": {"to": "office", "amount": 5}}`), 0)
		early <- err
	}()
	ctx, cancel := context.WithTimeout(w.ctx, 50*time.Millisecond)
	defer cancel()
	var unread *sequencer.UnreadError
	if s, err := w.node.Submit(ctx, "a", "left", []byte(`{"issue": {"to": "office", "amount": 5}}`), 0); !errors.As(err, &unread) {
		t.Fatalf("while its chain is away a user gets %v, %v", s, err)
	}
	if s, err := w.node.Look(w.ctx, "a"); err != nil || s.Contract != "a" {
		t.Errorf("while its chain is away it is %+v, %v", s, err)
	}
	close(chain.back)
	if err := <-early; err != nil {
		t.Errorf("who has waited for the chain hears %v", err)
	}
	w.lands("a")
	if _, known, err := w.cfg.Store.Find(w.ctx, "a", "left"); known || err != nil {
		t.Errorf("what was asked for by a user who has left is stored: %v, %v", known, err)
	}
}

// I9: looking at contracts that sleep lets them sleep; it tells what they were when they fell asleep.
func TestLookingWakesNobody(t *testing.T) {
	t.Parallel()
	w := newPairOf(t)
	w.cfg.SleepAfter = 20 * time.Millisecond
	s := &stuck{Store: w.cfg.Store, loads: map[string]int{}}
	w.cfg.Store = s
	w.start()
	w.lands("b")
	for w.node.Awake() > 0 {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-w.ctx.Done():
			t.Fatal("the contract never falls asleep")
		}
		if _, err := w.node.Look(w.ctx, "b"); err != nil {
			t.Fatal(err)
		}
	}
	for _, contract := range []string{"a", "b"} {
		now, err := w.node.Look(w.ctx, contract)
		if err != nil || now.Contract != contract || (now.Head > 0) != (contract == "b") || now.Coordinates == nil || len(now.Members) == 0 {
			t.Errorf("it tells %+v, %v of %s", now, err, contract)
		}
	}
	if _, err := w.node.Look(w.ctx, "c"); !errors.Is(err, sequencer.ErrContract) {
		t.Errorf("of a contract that is not there it tells %v, want ErrContract", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loads["a"] != 1 {
		t.Errorf("a contract in which nothing happens was read %d times, want once", s.loads["a"])
	}
}

// What a caller waits for ends with its patience, also while the node has not begun.
func TestPatienceHoldsWhileTheNodeBegins(t *testing.T) {
	t.Parallel()
	w := newPairOf(t)
	node, err := sequencer.New(w.cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := node.Submit(ctx, "a", "k", []byte(`{"issue": {"to": "office", "amount": 5}}`), 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Submit: %v", err)
	}
	if _, err := node.Wait(ctx, "a", "k"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Wait: %v", err)
	}
	if err := node.Cancel(ctx, "a", ledger.Sequence{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Cancel: %v", err)
	}
	if _, err := node.List(ctx, "a", sequencer.Filter{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("List: %v", err)
	}
	for range 300 { // more than may wait until it has
		if _, err := node.Look(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Look: %v", err)
		}
	}
}

// I9, I10: who is no member of a contract does not wake it, and gets an answer; a member whose messages find no room while the
// contract is read is told so.
func TestStrangersWakeNobody(t *testing.T) {
	t.Parallel()
	w := newPairOf(t)
	s := &stuck{Store: w.cfg.Store, load: true, loads: map[string]int{}}
	w.cfg.Store = s
	w.start()
	stranger := w.peer("member-3")
	beat, err := wire.EncodeBeat(wire.Beat{Incarnation: wire.Incarnation{7}, Contracts: []wire.Pulse{{Contract: "a"}}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(20) {
		if err := stranger.Send("member-1", append([]byte{1}, beat...)); err != nil {
			t.Fatal(err)
		}
		send(t, stranger, request("a", i+1, wire.AskList{}))
		if answer := next[wire.Rejected](w.ctx, t, stranger); answer.Body.(wire.Rejected).Why != wire.NotMember {
			t.Fatalf("it answers a stranger %v, want that it is no member", answer)
		}
	}
	s.mu.Lock()
	if s.loads["a"] != 1 {
		t.Errorf("the contract was read %d times, want once: at the start", s.loads["a"])
	}
	s.mu.Unlock()
	member := w.peer("member-2")
	for i := range uint64(12) { // of 2 MiB each
		send(t, member, request("a", i+1, wire.AskAttempts{Assembled: make([]ledger.Hash, 60_000)}))
	}
	if answer := next[wire.Rejected](w.ctx, t, member); answer.Body.(wire.Rejected).Why != wire.Busy {
		t.Errorf("it answers %v, want busy", answer)
	}
	w.lands("b")
}

// slow is a store whose writes wait while it is held.
type slow struct {
	sequencer.Store
	held sync.RWMutex
}

func (s *slow) Write(ctx context.Context, changes []core.Change) ([]core.Twice, error) {
	s.held.RLock()
	defer s.held.RUnlock()
	return s.Store.Write(ctx, changes)
}

// P38: a user who hears that an intent is given up can rely on it: that is stored.
func TestACancellationIsStored(t *testing.T) {
	t.Parallel()
	w := newPairOf(t)
	s := &slow{Store: w.cfg.Store}
	w.cfg.Store = s
	w.start()
	id, err := w.node.Submit(w.ctx, "b", "poor", []byte(`{"pay": {"from": "nobody", "to": "office", "amount": 5}}`), 0)
	if err != nil {
		t.Fatal(err)
	}
	s.held.Lock()
	ctx, cancel := context.WithTimeout(w.ctx, 50*time.Millisecond)
	defer cancel()
	if err := w.node.Cancel(ctx, "b", id); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while nothing is stored Cancel says %v", err)
	}
	s.held.Unlock()
	if err := w.node.Cancel(w.ctx, "b", id); err != nil {
		t.Error(err)
	}
	stored, err := s.Load(w.ctx, "b")
	if err != nil || len(stored.Intents) > 0 && stored.Intents[0].GivenUp == "" {
		t.Errorf("after Cancel the store has %+v, %v", stored.Intents, err)
	}
}

// A message of a peer speaks for its account: which of two that would be was chance.
func TestAPeerIsOneAccount(t *testing.T) {
	t.Parallel()
	w := newPairOf(t)
	w.cfg.Peers[account("member-4")] = "member-2"
	if _, err := sequencer.New(w.cfg); err == nil {
		t.Error("a peer with two accounts was taken")
	}
}

// I10: a rejection is an answer, and is not answered: two nodes without a contract would reject each other's for ever.
func TestARejectionIsNotAnswered(t *testing.T) {
	t.Parallel()
	w := newPairOf(t)
	w.start()
	line := w.peer("member-2")
	for i := range uint64(20) {
		send(t, line, request("gone", 2*i+1, wire.Rejected{Why: wire.UnknownContract}))
		send(t, line, request("gone", 2*i+2, wire.AskList{}))
		if answer := next[wire.Rejected](w.ctx, t, line); answer.Request.Number%2 == 1 {
			t.Fatalf("it answers a rejection: %v", answer)
		}
	}
}

// P28: two requests under one key at once, of which the first one's user has left. The second hears of its own request: that it is
// another one, and not that it is accepted.
func TestAUserHearsOfTheirOwnRequest(t *testing.T) {
	t.Parallel()
	w := newPairOf(t)
	s := &slow{Store: w.cfg.Store}
	w.cfg.Store = s
	w.start()
	w.peer("member-2")
	s.held.Lock()
	ctx, cancel := context.WithTimeout(w.ctx, 50*time.Millisecond)
	defer cancel()
	first, second := []byte(`{"issue": {"to": "office", "amount": 5}}`), []byte(`{"issue": {"to": "office", "amount": 6}}`)
	if _, err := w.node.Submit(ctx, "b", "key", first, 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while nothing is stored Submit says %v", err)
	}
	var asking sync.WaitGroup
	for _, same := range []bool{true, false, true, false} {
		asking.Go(func() {
			request, want := second, sequencer.ErrConflict
			if same {
				request, want = first, nil
			}
			if _, err := w.node.Submit(w.ctx, "b", "key", request, 0); !errors.Is(err, want) {
				t.Errorf("of the same request: %v, it hears %v, want %v", same, err, want)
			}
		})
	}
	for begun := range uint64(200) { // so that all wait in the loop, or will
		if _, err := w.node.Story(w.ctx, "b", ledger.Sequence{Lineage: begun}); err != nil {
			t.Fatal(err)
		}
	}
	s.held.Unlock()
	asking.Wait()
}
