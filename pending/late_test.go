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

// tardy is a store that does not answer the first write, and carries it out after the rows have
// been read again.
type tardy struct {
	*pending.Memory
	then  func() // called by the first write
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

func (s *tardy) Load(ctx context.Context, a chain.Account, from uint64, most int) (pending.Snapshot, error) {
	snap, err := s.Memory.Load(ctx, a, from, most)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.late != nil {
		s.late()
		s.late = nil
	}
	return snap, err
}

// T7: a write without an answer is carried out after the rows were read, either because the answer
// is missing or because the work was begun again in the same term. Then a slot would be in the rows
// of which the leader does not know.
func TestAWriteThatComesAfterTheLook(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]bool{"the rows were read again": false, "the work began again": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { comesAfterTheLook(t, again) })
		})
	}
}

func comesAfterTheLook(t *testing.T, again bool) {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	first, stop := context.WithCancel(ctx)
	defer stop()
	node := chaintest.New(chaintest.Config{Depth: 2})
	var running sync.WaitGroup
	running.Go(func() { node.Run(ctx, time.Second) })
	from := node.Account("sender", 1<<60)
	store := &tardy{Memory: &pending.Memory{}, then: func() {
		if again {
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
		t.Errorf("after an hour the intent is %+v, error %v; want it done", r, err)
	}
	end()
	running.Wait()
}
