package transactions

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
)

// A reload gives an account of a standalone node a new manager in the same term. Its writes
// must count as later ones: with numbers of its own the store would ignore them.
func TestANewManagerInTheSameTerm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		ledger := chaintest.New(chaintest.Config{Depth: 2})
		a := Account{Name: "main", Scope: "pending:main", Address: ledger.Account("main", 1<<60), Chain: Chain{Kind: KindEVM, ChainID: 1}}
		var beside sync.WaitGroup
		frame := node.Frame{ID: "n1", Log: slog.New(slog.DiscardHandler), Over: ctx, Go: beside.Go}
		s := newService(frame, func(Chain) (chain.Chain, error) { return ledger.Line(), nil })
		use, err := s.accounts.prepare([]Account{a})
		if err != nil {
			t.Fatal(err)
		}
		use()
		kept := s.accounts.store(a.Chain)
		in, err := kept.Accept(ctx, pending.Intent{Account: a.Address, Call: chain.Call{To: []byte("somebody")}})
		if err != nil {
			t.Fatal(err)
		}
		lead := func(d time.Duration) {
			m, release, err := (&sender{service: s, account: a}).acquire()
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			term, stop := context.WithTimeout(ctx, d)
			defer stop()
			_ = m.Lead(term, fence.Standalone(a.Scope, "n1"), fence.Token{Scope: a.Scope})
		}
		for range 5 { // the first manager stores the slot, and new states of it
			lead(time.Second)
			ledger.Mine()
		}
		var mining sync.WaitGroup
		mining.Go(func() { ledger.Run(ctx, time.Second) }) // a second opinion takes a further final block in the same term
		for range 3 {
			lead(time.Minute)
		}
		if r, err := kept.Get(ctx, in.ID); err != nil || r.Fate != pending.Done {
			t.Errorf("record %+v, error %v; want the intent done", r, err)
		}
		end()
		mining.Wait()
	})
}

// W6, Q5: a restored database has lost what the chain did in the meantime. What waits and has the call of it is held for a
// person, unless its service says that it may be done twice.
func TestWhatMayBeDoneTwiceGoesOn(t *testing.T) {
	t.Parallel()
	for name, harmless := range map[string]bool{"held": false, "done": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithCancel(t.Context())
				ledger := chaintest.New(chaintest.Config{Depth: 2})
				a := Account{Name: "main", Scope: "pending:main", Address: ledger.Account("main", 1<<60), Chain: Chain{Kind: KindEVM, ChainID: 1}, RestoreWait: -1}
				var beside, mining sync.WaitGroup
				accounts := new(node.Accounts)
				accounts.Excuse(func(c chain.Call) bool { return harmless && string(c.To) == "contract" })
				s := newService(node.Frame{ID: "n1", Log: slog.New(slog.DiscardHandler), Over: ctx, Go: beside.Go, Accounts: accounts},
					func(Chain) (chain.Chain, error) { return ledger.Line(), nil })
				use, err := s.accounts.prepare([]Account{a})
				if err != nil {
					t.Fatal(err)
				}
				use()
				kept := s.accounts.store(a.Chain)
				accept := func(to string) pending.Intent {
					in, err := kept.Accept(ctx, pending.Intent{Account: a.Address, Call: chain.Call{To: []byte(to)}})
					if err != nil {
						t.Fatal(err)
					}
					return in
				}
				fate := func(in pending.Intent) pending.Fate {
					r, err := kept.Get(ctx, in.ID)
					if err != nil {
						t.Fatal(err)
					}
					return r.Fate
				}
				mining.Go(func() { ledger.Run(ctx, time.Second) })
				first := accept("somebody")
				lead := func() {
					m, release, err := (&sender{service: s, account: a}).acquire()
					if err != nil {
						t.Fatal(err)
					}
					defer release()
					term, stop := context.WithTimeout(ctx, 5*time.Minute)
					defer stop()
					_ = m.Lead(term, fence.Standalone(a.Scope, "n1"), fence.Token{Scope: a.Scope})
				}
				lead()
				line := ledger.Line()
				lost, err := line.Prepare(ctx, []chain.Draft{{Account: a.Address, Index: 1, Call: chain.Call{To: []byte("contract")}}})
				if err != nil || lost[0].Err != nil {
					t.Fatal(err, lost[0].Err)
				}
				line.Submit(ctx, []chain.Signed{lost[0].Signed})
				time.Sleep(10 * time.Second) // it is in a block
				second := accept("contract")
				lead()
				if fate(first) != pending.Done || (fate(second) == pending.Done) != harmless {
					t.Errorf("the first is %v, and what may be done twice (%t) is %v", fate(first), harmless, fate(second))
				}
				end()
				mining.Wait()
			})
		})
	}
}

// A reload moves an account's name to another chain while a bid for the old account is under way,
// and wins. No transaction for the new chain is signed for the old one.
func TestANameThatMovesToAnotherChain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		testChain := chaintest.New(chaintest.Config{Depth: 2})
		was := Account{Name: "main", Scope: "pending:was", Address: testChain.Account("main", 1<<60), Chain: Chain{Kind: KindEVM, ChainID: 1}}
		is := was
		is.Scope, is.Chain.ChainID = "pending:is", 2
		var beside sync.WaitGroup
		frame := node.Frame{ID: "n1", Log: slog.New(slog.DiscardHandler), Over: ctx, Go: beside.Go}
		s := newService(frame, func(Chain) (chain.Chain, error) { return testChain.Line(), nil })
		for _, a := range []Account{was, is} {
			use, err := s.accounts.prepare([]Account{a})
			if err != nil {
				t.Fatal(err)
			}
			use()
		}
		store := s.accounts.store(is.Chain)
		in, err := store.Accept(ctx, pending.Intent{Account: is.Address, Call: chain.Call{To: []byte("somebody")}})
		if err != nil {
			t.Fatal(err)
		}
		m, release, err := (&sender{service: s, account: was}).acquire()
		if err != nil {
			t.Fatal(err)
		}
		var running sync.WaitGroup
		running.Go(func() { testChain.Run(ctx, time.Second) })
		running.Go(func() { _ = m.Lead(ctx, fence.Standalone(was.Scope, "n1"), fence.Token{Scope: was.Scope}) })
		time.Sleep(time.Minute)
		if r, err := store.Get(ctx, in.ID); err != nil || r.Index != nil {
			t.Errorf("got %+v, %v, want a transaction without a nonce: nothing leads its account", r, err)
		}
		end()
		running.Wait()
		release()
	})
}
