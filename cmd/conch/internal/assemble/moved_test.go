package assemble

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
)

// A reload gives an account's name to the same address on another chain, and a bid for
// the old one, which was on its way, wins: what is for the new chain is not signed for
// the old one.
func TestANameThatMovesToAnotherChain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		node := chaintest.New(chaintest.Config{Depth: 2})
		was := config.Account{Name: "main", Scope: "pending:was", Address: node.Account("main", 1<<60), Chain: config.Chain{Kind: config.KindEVM, ChainID: 1}}
		is := was
		is.Scope, is.Chain.ChainID = "pending:is", 2
		n := &Node{
			opts: Options{Chain: func(config.Account) (chain.Chain, error) { return node.Line(), nil }},
			cfg:  config.Config{Node: config.Node{Standalone: true}}, log: slog.New(slog.DiscardHandler), over: ctx,
		}
		n.desk = n.newDesk()
		for _, a := range []config.Account{was, is} {
			if err := n.desk.serve([]config.Account{a}); err != nil {
				t.Fatal(err)
			}
		}
		book := n.desk.book(is.Chain)
		in, err := book.Accept(ctx, pending.Intent{Account: is.Address, Call: chain.Call{To: []byte("somebody")}})
		if err != nil {
			t.Fatal(err)
		}
		m, release, err := (&sender{node: n, account: was}).hold()
		if err != nil {
			t.Fatal(err)
		}
		var running sync.WaitGroup
		running.Go(func() { node.Run(ctx, time.Second) })
		running.Go(func() { _ = m.Lead(ctx, fence.Standalone(was.Scope, "n1"), fence.Token{Scope: was.Scope}) })
		time.Sleep(time.Minute)
		if r, err := book.Get(ctx, in.ID); err != nil || r.Index != nil {
			t.Errorf("it has a slot on the old chain: %+v, %v", r, err)
		}
		end()
		running.Wait()
		release()
	})
}
