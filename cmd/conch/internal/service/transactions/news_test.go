package transactions

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pgstore"
)

// What any process writes is told on every node: to those who wait, and to event streams. A notification that is lost delays it.
func TestNewsOfADatabase(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	db, err := pgstore.Open(t.Context(), server.Config(), 2)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	store := db.Store(payerAccount.Chain.ID(), "another node")
	token, _ := nodetest.Lead(t, server.URL, "a", "pending:test", time.Minute)
	s := newService(node.Frame{ID: "n1", Log: slog.New(slog.DiscardHandler)}, nil)
	s.accounts.configured = []Account{payerAccount}
	ctx, end := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() { s.news.follow(ctx, db) })
	defer following.Wait()
	defer end()
	in, err := store.Accept(t.Context(), pending.Intent{Account: payerAccount.Address})
	if err != nil {
		t.Fatal(err)
	}
	one, leave, err := s.news.wait(in.ID, patience{until: untilNonce})
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	attempt := chain.Signed{Account: payerAccount.Address, Hash: "hash", Bytes: []byte{1}}
	if err := store.Write(t.Context(), token, pending.Batch{Account: payerAccount.Address, New: []pending.Slot{{Intent: &in.ID, Attempts: []chain.Signed{attempt}}}}); err != nil {
		t.Fatal(err)
	}
	pgtest.Within(t, time.Minute, "it has a nonce", func() { <-one.woken })
}
