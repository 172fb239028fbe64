//go:build unix

package transactions

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pgstore"
)

// A transaction is sent although the database has notified nobody of it.
func TestALostNotification(t *testing.T) {
	t.Parallel()
	testChain := chaintest.New(chaintest.Config{Depth: 2})
	db := pgtest.New(t)
	cfg := oneAccount(t, testChain)
	cfg.Database.URL = db.URL
	a := cfg.Sections[0].(*Section).accounts[0]
	testChain.Fund(a.Address, 1e18)
	log := &nodetest.Log{}
	ctx, cancel := context.WithCancel(t.Context())
	ended, mined := make(chan error, 1), make(chan struct{})
	go func() { testChain.Run(ctx, 20*time.Millisecond); close(mined) }()
	go func() {
		ended <- node.Run(ctx, node.Options{
			Config: cfg, Log: slog.New(slog.NewTextHandler(log, nil)),
			Kinds: []node.Kind{kindOf(func(Chain) (chain.Chain, error) { return testChain.Line(), nil })},
		})
	}()
	log.Says(t, "msg=sending", "account=one")
	if _, err := db.Connect(t).Exec(t.Context(), `ALTER TABLE conch.intents DISABLE TRIGGER USER`); err != nil {
		t.Fatal(err)
	}
	other, err := pgstore.Open(t.Context(), db.Config(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	store := other.Store(a.Chain.ID(), "another node")
	in, err := store.Accept(t.Context(), pending.Intent{Account: a.Address, Call: chain.Call{To: []byte(chaintest.Address("x")), Gas: 100_000}})
	if err != nil {
		t.Fatal(err)
	}
	pgtest.Eventually(t, nodetest.Patience, "it is done", func() bool {
		r, err := store.Get(t.Context(), in.ID)
		return err == nil && r.Fate == pending.Done
	})
	cancel()
	pgtest.Within(t, nodetest.Patience, "the chain ends", func() { <-mined })
	nodetest.Ends(t, ended)
}
