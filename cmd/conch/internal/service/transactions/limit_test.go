package transactions

import (
	"context"
	"log/slog"
	"math/big"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
)

// A reload with a higher max_fee is heard by the leader of the account, in the same term.
func TestAReloadRaisesTheLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		testChain := chaintest.New(chaintest.Config{Depth: 2})
		a := Account{Name: "main", Scope: "pending:main", Address: testChain.Account("main", 1<<60), Chain: Chain{Kind: KindEVM, ChainID: 1}, MaxFee: big.NewInt(50)}
		var beside sync.WaitGroup
		frame := node.Frame{ID: "n1", Log: slog.New(slog.DiscardHandler), Over: ctx, Go: beside.Go}
		s := newService(frame, func(Chain) (chain.Chain, error) { return testChain.Line(), nil })
		reload := func() {
			use, err := s.accounts.prepare([]Account{a})
			if err != nil {
				t.Fatal(err)
			}
			use()
		}
		reload()
		in, err := s.accounts.store(a.Chain).Accept(ctx, pending.Intent{Account: a.Address, Call: chain.Call{To: []byte("somebody")}})
		if err != nil {
			t.Fatal(err)
		}
		var running sync.WaitGroup
		running.Go(func() { testChain.Run(ctx, time.Second) })
		role := sender{service: s, account: a}
		running.Go(func() {
			_ = role.lead(ctx, election.Leadership{Gate: fence.Standalone(a.Scope, "n1"), Token: fence.Token{Scope: a.Scope}})
		})
		fate := func() pending.Record {
			time.Sleep(time.Minute)
			r, err := s.accounts.store(a.Chain).Get(ctx, in.ID)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		if r := fate(); r.Index != nil || r.Hold.Why == "" {
			t.Errorf("the fee is above the limit: got %+v, want no nonce, and why", r)
		}
		a.MaxFee = big.NewInt(5000)
		reload()
		if r := fate(); r.Fate != pending.Done {
			t.Errorf("more is allowed: got %+v, want it done", r)
		}
		end()
		running.Wait()
	})
}
