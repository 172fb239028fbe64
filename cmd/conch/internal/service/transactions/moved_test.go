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
