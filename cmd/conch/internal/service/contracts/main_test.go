package contracts

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/sequencer/pgstore"
)

func TestMain(m *testing.M) {
	pgtest.Template(func(ctx context.Context, conn *pgx.Conn) error {
		if err := pgmint.Tables.Up(ctx, conn, nil); err != nil {
			return err
		}
		return pgstore.Tables.Up(ctx, conn, nil)
	})
	pgtest.Main(m)
}

const (
	scope    = "sequencer:test"
	patience = 30 * time.Second
)

// lead makes a candidate the leader of the scope, as soon as it can, as an elector does that has waited for a lease. Leave ends
// its session.
func lead(t *testing.T, url, id string, lease time.Duration) (token fence.Token, leave func()) {
	t.Helper()
	minter, err := pgmint.New(pgmint.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(minter.Close)
	session, err := minter.Open(t.Context(), mint.Candidate{ID: id, Lease: lease, Longest: lease, Takeover: mint.Strict, Scopes: []string{scope}})
	if err != nil {
		t.Fatal(err)
	}
	leave = func() { _ = session.Close() }
	t.Cleanup(leave)
	pgtest.Eventually(t, patience, id+" leads", func() bool {
		won, err := session.Try(t.Context(), []mint.Bid{{Scope: scope, Lease: lease, Block: 100 * time.Millisecond, Evict: true}})
		if err != nil {
			t.Fatal(err)
		}
		token = won[0].Token
		return won[0].Outcome == mint.Won
	})
	return token, leave
}
