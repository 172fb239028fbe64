package pending_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
)

// An account for which nothing is open asks nothing of the chain. Its first transaction after an hour takes as many
// calls in a row as any: one that prepares and one that sends.
func TestAnAccountAtRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		node := chaintest.New(chaintest.Config{Seed: 1, Depth: 3})
		from := node.Account("sender", 1<<60)
		line := node.Line()
		line.Delay(50 * time.Millisecond)
		store := &pending.Memory{}
		gate, latch := fence.New("sender", bubbleClock)
		token := fence.Token{Scope: "sender", Epoch: 1, Term: fence.Term{1}}
		latch.Open(token, 0, bubbleClock().Add(1000*time.Hour))
		m, err := pending.New(pending.Config{Account: from, Chain: line, Store: store, Clock: bubbleClock})
		if err != nil {
			t.Fatal(err)
		}
		ctx, end := context.WithCancel(t.Context())
		mined, over := make(chan struct{}), make(chan struct{})
		go func() { defer close(mined); node.Run(ctx, time.Second) }()
		go func() { defer close(over); _ = m.Lead(ctx, gate, token) }()
		time.Sleep(time.Minute)
		for range 3 {
			before := calls(line)
			time.Sleep(time.Hour)
			if n := calls(line) - before; n > 0 {
				t.Errorf("%d calls in an hour in which nothing was open, want none", n)
			}
			in, err := store.Accept(ctx, pending.Intent{Account: from, Call: chain.Call{To: []byte("somebody")}})
			if err != nil {
				t.Fatal(err)
			}
			m.Wake()
			began := time.Now()
			for pooled, next := uint64(0), node.Sent(from); pooled <= next; {
				time.Sleep(time.Millisecond)
				if pooled, err = node.Line().Pooled(ctx, from); err != nil {
					t.Fatal(err)
				}
			}
			if took := time.Since(began); took > 110*time.Millisecond {
				t.Errorf("the first transaction was sent after %v, want two calls of 50ms", took)
			}
			time.Sleep(time.Minute)
			if r, err := store.Get(ctx, in.ID); err != nil || r.Fate != pending.Done {
				t.Errorf("after a minute: %+v, error %v; want it done", r, err)
			}
		}
		end()
		<-mined
		<-over
	})
}

func calls(line *chaintest.Line) (n int) {
	for _, method := range []string{"Describe", "Next", "Prepare", "Submit", "Probe", "Scan", "Linked", "Confirm", "Heads", "Inclusions", "Tip"} {
		n += line.Calls(method)
	}
	return n
}
