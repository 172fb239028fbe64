package pending_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
)

// watch looks whether a leader of a world goes on and on at one instant. In a bubble no time passes while anybody is at work, so the world
// would stand still for ever; of a real leader it would be a processor, a store and an endpoint that are busy with nothing.
type watch struct {
	wait func(time.Duration)

	mu    sync.Mutex
	at    time.Time
	looks int      // how often the leader has looked at its clock at that instant, some times a step, or called somebody
	calls []string // the last ones, of the chain and of the store
	fault string   // empty: there is none
}

const (
	mostLooks = 20_000 // a leader that has missed hundreds of blocks takes some thousands
	lastCalls = 24
)

// clock is the leader's.
func (w *watch) clock() fence.Instant {
	w.look("", nil)
	return bubbleClock()
}

// look notes that the leader has looked at its clock, or called somebody. It lets time pass for one that would go on for ever.
func (w *watch) look(call string, of any) {
	w.mu.Lock()
	if now := time.Now(); !now.Equal(w.at) {
		w.at, w.looks = now, 0
	}
	w.looks++
	spins := w.looks > mostLooks || w.fault != "" && w.looks > mostLooks/100
	if call != "" && w.looks > mostLooks/2 { // before, nobody wants to know
		w.calls = append(w.calls[max(0, len(w.calls)-lastCalls):], fmt.Sprintf("%s %.200s", call, fmt.Sprintf("%+v", of)))
	}
	if spins && w.fault == "" {
		w.fault = fmt.Sprintf("one instant saw more than %d looks and calls, at last:\n%s", mostLooks, strings.Join(w.calls, "\n"))
	}
	w.mu.Unlock()
	if spins {
		w.wait(time.Second)
	}
}

// found returns what the leader has done wrong.
func (w *watch) found() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fault
}

// watchedChain notes what a leader asks its chain again and again, if it does.
type watchedChain struct {
	chain.Chain
	*watch
}

func (c watchedChain) Prepare(ctx context.Context, drafts []chain.Draft) ([]chain.Prepared, error) {
	c.look("Prepare", drafts)
	return c.Chain.Prepare(ctx, drafts)
}

func (c watchedChain) Submit(ctx context.Context, attempts []chain.Signed) []chain.Outcome {
	out := c.Chain.Submit(ctx, attempts)
	c.look("Submit", out)
	return out
}

func (c watchedChain) Probe(ctx context.Context, hashes []chain.Hash) ([]chain.Sighting, error) {
	c.look("Probe", hashes)
	return c.Chain.Probe(ctx, hashes)
}

func (c watchedChain) Inclusions(ctx context.Context, at chain.Block, accounts []chain.Account) ([]chain.Inclusion, error) {
	c.look("Inclusions", at.Number)
	return c.Chain.Inclusions(ctx, at, accounts)
}

func (c watchedChain) Pooled(ctx context.Context, a chain.Account) (uint64, error) {
	c.look("Pooled", a)
	return c.Chain.Pooled(ctx, a)
}

func (c watchedChain) Scan(ctx context.Context, of chain.Block, a chain.Account, from uint64, most int) ([]chain.Inclusion, uint64, error) {
	found, next, err := c.Chain.Scan(ctx, of, a, from, most)
	c.look("Scan", []any{of.Number, from, next, err})
	return found, next, err
}

func (c watchedChain) Linked(ctx context.Context, of chain.Block, blocks []chain.Block) ([]bool, error) {
	are, err := c.Chain.Linked(ctx, of, blocks)
	c.look("Linked", []any{of.Number, are, err})
	return are, err
}

func (c watchedChain) Confirm(ctx context.Context, claims []chain.Claim) ([]chain.Opinion, error) {
	said, err := c.Chain.Confirm(ctx, claims)
	c.look("Confirm", said)
	return said, err
}

// watchedStore notes likewise what a leader asks its store.
type watchedStore struct {
	pending.Store
	*watch
}

func (s watchedStore) Load(ctx context.Context, a chain.Account, from uint64, most int) (pending.Snapshot, error) {
	s.look("Load", from)
	return s.Store.Load(ctx, a, from, most)
}

func (s watchedStore) Slots(ctx context.Context, a chain.Account, first, last uint64) ([]pending.Slot, error) {
	s.look("Slots", []uint64{first, last})
	return s.Store.Slots(ctx, a, first, last)
}

func (s watchedStore) Queue(ctx context.Context, a chain.Account, relaxed bool, most int) (pending.Queue, error) {
	q, err := s.Store.Queue(ctx, a, relaxed, most)
	s.look("Queue", []any{len(q.Oldest), q.Left, err})
	return q, err
}

func (s watchedStore) Write(ctx context.Context, t fence.Token, b pending.Batch) error {
	err := s.Store.Write(ctx, t, b)
	s.look("Write", []any{b, err})
	return err
}
