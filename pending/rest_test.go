package pending_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
)

// leads lets a manager lead until end is called, by the bubble's clock.
func leads(t *testing.T, cfg pending.Config) (m *pending.Manager, end func()) {
	t.Helper()
	cfg.Clock = bubbleClock
	m, err := pending.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	gate, latch := fence.New(scope, bubbleClock)
	token := fence.Token{Scope: scope, Epoch: 1, Term: fence.Term{1}}
	latch.Open(token, 0, bubbleClock().Add(1000*time.Hour))
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { defer close(over); _ = m.Lead(ctx, gate, token) }()
	return m, func() { stop(); <-over }
}

// An account for which nothing is open asks nothing of the chain. Its first transaction after an hour takes four calls
// in a row: for the head and its block, beside the count, to prepare, and to send.
func TestAnAccountAtRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		node := chaintest.New(chaintest.Config{Seed: 1, Depth: 3})
		from := node.Account("sender", 1<<60)
		line := node.Line()
		line.Delay(50 * time.Millisecond)
		store := &pending.Memory{}
		m, end := leads(t, pending.Config{Account: from, Chain: line, Store: store})
		ctx, stop := context.WithCancel(t.Context())
		mined := make(chan struct{})
		go func() { defer close(mined); node.Run(ctx, time.Second) }()
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
			if took := time.Since(began); took > 210*time.Millisecond {
				t.Errorf("the first transaction was sent after %v, want four calls of 50ms", took)
			}
			time.Sleep(time.Minute)
			if r, err := store.Get(ctx, in.ID); err != nil || r.Fate != pending.Done {
				t.Errorf("after a minute: %+v, error %v; want it done", r, err)
			}
		}
		end()
		stop()
		<-mined
	})
}

// W6, W3: while the account rests another holder of the key sends what the next intent will ask for. That transaction
// is not taken for the intent's. If nobody else is meant to send, the intent may be one whose slot was lost: it waits
// until a person cancels it, and sent anew it is done.
func TestTheKeyIsUsedDuringARest(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			node := chaintest.New(chaintest.Config{Seed: 1, Depth: 3})
			from := node.Account("sender", 1<<60)
			store := &pending.Memory{}
			m, end := leads(t, pending.Config{Account: from, Chain: node.Line(), Store: store, SharedKey: shared})
			ctx, stop := context.WithCancel(t.Context())
			mined := make(chan struct{})
			go func() { defer close(mined); node.Run(ctx, time.Second) }()
			asked := func(call chain.Call) (pending.ID, pending.Record) {
				in, err := store.Accept(ctx, pending.Intent{Account: from, Call: call})
				if err != nil {
					t.Fatal(err)
				}
				m.Wake()
				time.Sleep(time.Minute)
				r, err := store.Get(ctx, in.ID)
				if err != nil {
					t.Fatal(err)
				}
				return in.ID, r
			}
			want := uint64(0)
			for i, call := range []chain.Call{{To: []byte("somebody")}, {To: []byte("foreign"), Data: []byte("foreign")}} {
				id, r := asked(call)
				if i == 1 && !shared {
					if r.Fate != pending.Open || r.Index != nil || r.Hold.Intent != id || node.Sent(from) != want {
						t.Errorf("it may have been done: %+v, the chain has %d; want it held, and %d", r, node.Sent(from), want)
					}
					if err := store.Cancel(ctx, id); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Minute)
					_, r = asked(call)
				}
				want++
				if r.Fate != pending.Done || node.Sent(from) != want {
					t.Fatalf("shared %v: %+v, the chain has %d; want it done, and %d", shared, r, node.Sent(from), want)
				}
				node.Seal(node.Foreign(from, want)) // its call is that of the second intent
				want++
				time.Sleep(5 * time.Minute)
			}
			end()
			stop()
			<-mined
		})
	}
}

// W12: a refusal counts from a block that has come since the chain is followed again.
func TestARefusalAfterARest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		node := chaintest.New(chaintest.Config{Seed: 1, Depth: 3})
		from := node.Account("sender", 1<<60)
		store := &pending.Memory{}
		ctx := t.Context()
		m, end := leads(t, pending.Config{Account: from, Chain: node.Line(), Store: store})
		for range 100 {
			node.Mine()
			time.Sleep(time.Second)
		}
		in, err := store.Accept(ctx, pending.Intent{Account: from, Call: chain.Call{To: []byte("y"), Data: []byte("revert")}})
		if err != nil {
			t.Fatal(err)
		}
		m.Wake()
		time.Sleep(time.Minute)
		if r, err := store.Get(ctx, in.ID); err != nil || r.Fate != pending.Open {
			t.Errorf("no block has come: %+v, error %v; want it open", r, err)
		}
		for range 10 {
			node.Mine()
			time.Sleep(10 * time.Second)
		}
		if r, err := store.Get(ctx, in.ID); err != nil || r.Fate != pending.Rejected {
			t.Errorf("blocks have come: %+v, error %v; want it rejected", r, err)
		}
		end()
	})
}

func calls(line *chaintest.Line) (n int) {
	for _, method := range []string{"Describe", "Next", "Prepare", "Submit", "Probe", "Scan", "Linked", "Confirm", "Heads", "Inclusions", "Tip"} {
		n += line.Calls(method)
	}
	return n
}

// What was final is put into another block, deeper than the chain calls final and at a height that counts as many nonces,
// while nobody follows the chain: at rest, or before the next leader. The next look at the chain says so.
func TestFinalElsewhereWhileNobodyLooks(t *testing.T) {
	t.Parallel()
	for _, led := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			node := chaintest.New(chaintest.Config{Seed: 1, Depth: 3})
			from := node.Account("sender", 1<<60)
			store := &pending.Memory{}
			cfg := pending.Config{Account: from, Chain: node.Line(), Store: store, Sequence: new(pending.Sequence)} // both lead in one term
			m, end := leads(t, cfg)
			ctx := t.Context()
			pay := func() (id pending.ID) {
				in, err := store.Accept(ctx, pending.Intent{Account: from, Call: chain.Call{To: []byte("somebody")}})
				if err != nil {
					t.Fatal(err)
				}
				m.Wake()
				return in.ID
			}
			mine := func() {
				for range 60 {
					node.Mine()
					time.Sleep(time.Second)
				}
			}
			ids := []pending.ID{pay(), pay(), pay()}
			mine()
			slots, err := store.Slots(ctx, from, 0, 2)
			if err != nil || len(slots) != 3 || slots[2].Last.Status != pending.Finalized {
				t.Fatalf("got %+v, error %v; want three that are final", slots, err)
			}
			if !led {
				end()
			}
			blocks := make([][]chain.Signed, 70)
			for i, s := range slots {
				blocks[5+i] = []chain.Signed{s.Attempts[0]}
			}
			node.Reorg(59, blocks...)
			time.Sleep(time.Minute)
			if led {
				pay()
			} else {
				_, end = leads(t, cfg)
			}
			mine()
			for i, id := range ids {
				r, err := store.Get(ctx, id)
				seen, err2 := node.Line().Probe(ctx, []chain.Hash{r.Last.Hash})
				if err != nil || err2 != nil || r.Fate != pending.Done || r.Last.Block.Hash != seen[0].Block.Hash {
					t.Errorf("led %v, nonce %d: %+v, errors %v, %v; want it done in the chain's block %+v", led, i, r.Last, err, err2, seen)
				}
			}
			end()
		})
	}
}

// deaf is a chain that answers late, and does not hear that nobody waits any more.
type deaf struct {
	chain.Chain
	answered atomic.Bool
}

func (d *deaf) Next(context.Context, chain.Account) (uint64, error) {
	time.Sleep(time.Minute)
	d.answered.Store(true)
	return 0, nil
}

// What a term has begun is over when it ends: the role's return says so to its elector, and the next term of this process begins then.
func TestATermEndsWithItsWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		node := chaintest.New(chaintest.Config{Seed: 1, Depth: 3})
		slow := &deaf{Chain: node.Line()}
		_, end := leads(t, pending.Config{Account: node.Account("sender", 1), Chain: slow, Store: &pending.Memory{}})
		time.Sleep(time.Second)
		if end(); !slow.answered.Load() {
			t.Error("it has ended, and a question of it is under way")
		}
	})
}

// slow is a store whose rows take long to read.
type slow struct {
	*pending.Memory
	takes time.Duration
}

func (s *slow) Load(ctx context.Context, a chain.Account, from uint64, most int) (pending.Snapshot, error) {
	select {
	case <-time.After(s.takes):
		return s.Memory.Load(ctx, a, from, most)
	case <-ctx.Done():
		return pending.Snapshot{}, context.Cause(ctx)
	}
}

// S20: however many rows there are, a leader gets through them: what takes longer than one exchange may take has more
// time when it is tried again.
func TestManyRowsAreReadInTheEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		takes time.Duration
		want  bool
	}{"longer than an exchange": {25 * time.Second, true}, "no end": {time.Hour, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				node := chaintest.New(chaintest.Config{Seed: 1, Depth: 3})
				from := node.Account("sender", 1<<60)
				store := &slow{Memory: &pending.Memory{}, takes: c.takes}
				in, err := store.Accept(t.Context(), pending.Intent{Account: from, Call: chain.Call{To: []byte("x")}})
				if err != nil {
					t.Fatal(err)
				}
				_, end := leads(t, pending.Config{Account: from, Chain: node.Line(), Store: store})
				for range 600 {
					node.Mine()
					time.Sleep(time.Second) // virtual
				}
				end()
				if r, err := store.Get(t.Context(), in.ID); err != nil || (r.Index != nil) != c.want {
					t.Errorf("after ten minutes it has the nonce %v, error %v; want one: %v", r.Index, err, c.want)
				}
			})
		})
	}
}
