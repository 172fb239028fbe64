package pending_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
)

// tardy is a store that carries the first assignment out late: nobody gets an answer to
// it, and the rows are read once more before.
type tardy struct {
	*pending.Memory
	then  func() // at the first assignment
	mu    sync.Mutex
	calls int
	late  func()
}

func (s *tardy) Write(ctx context.Context, t fence.Token, b pending.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls++; s.calls == 1 {
		s.late = func() { _ = s.Memory.Write(context.WithoutCancel(ctx), t, b) }
		s.then()
		return errLine
	}
	return s.Memory.Write(ctx, t, b)
}

func (s *tardy) Load(ctx context.Context, a chain.Account, from uint64) (pending.Snapshot, error) {
	snap, err := s.Memory.Load(ctx, a, from)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.late != nil {
		s.late()
		s.late = nil
	}
	return snap, err
}

// T7: a write without an answer happens after the rows were read because of it, or
// because the work has begun anew in the same term. The slot would be in the rows, and
// nobody who leads would know of it.
func TestAWriteThatComesAfterTheLook(t *testing.T) {
	t.Parallel()
	for name, anew := range map[string]bool{"it was asked again": false, "its work began anew": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { comesAfterTheLook(t, anew) })
		})
	}
}

func comesAfterTheLook(t *testing.T, anew bool) {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	first, stop := context.WithCancel(ctx)
	defer stop()
	node := chaintest.New(chaintest.Config{Depth: 2})
	var running sync.WaitGroup
	running.Go(func() { node.Run(ctx, time.Second) })
	from := node.Account("sender", 1<<60)
	store := &tardy{Memory: &pending.Memory{}, then: func() {
		if anew {
			stop()
		}
	}}
	in, err := store.Accept(ctx, pending.Intent{Account: from, Call: chain.Call{To: []byte("somebody")}})
	if err != nil {
		t.Fatal(err)
	}
	var sequence pending.Sequence
	lead := func(ctx context.Context) {
		m, err := pending.New(pending.Config{Account: from, Chain: node.Line(), Store: store, Clock: bubbleClock, Sequence: &sequence})
		if err != nil {
			t.Error(err)
			return
		}
		_ = m.Lead(ctx, fence.Standalone("sender", "n1"), fence.Token{Scope: "sender"})
	}
	running.Go(func() {
		lead(first)
		lead(ctx)
	})
	time.Sleep(time.Hour)
	if r, err := store.Get(ctx, in.ID); err != nil || r.Fate != pending.Done {
		t.Errorf("after an hour it is %+v, %v", r, err)
	}
	end()
	running.Wait()
}
