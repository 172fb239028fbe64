package pgmint_test

import (
	"sync"
	"testing"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/electiontest"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// The same suite that the mint in memory passes, on a real server. A session that
// is cut off is a matter of real processes and lines: see the chaos tests.
func TestConformance(t *testing.T) {
	t.Parallel()
	exercise(t, func(db *pgtest.DB) string { return db.URL })
}

// exercise runs the suite over mints that reach their databases at an address.
func exercise(t *testing.T, address func(*pgtest.DB) string) {
	t.Helper()
	var databases sync.Map // election.Mint → *pgtest.DB
	of := func(m election.Mint) *pgtest.DB {
		db, _ := databases.Load(m)
		return db.(*pgtest.DB)
	}
	electiontest.Exercise(t, electiontest.Harness{
		New: func(t *testing.T) election.Mint {
			db := pgtest.New(t)
			m := newMint(t, address(db))
			databases.Store(m, db)
			return m
		},
		Fence: func(t *testing.T, m election.Mint, token fence.Token) (func() error, error) {
			db := of(m)
			tx, err := pgtest.Connect(t, pg.Config{URL: address(db)}).Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := pgmint.Fence(t.Context(), tx, token); err != nil {
				return nil, err
			}
			return func() error { return tx.Commit(t.Context()) }, nil
		},
		Kill: func(t *testing.T, m election.Mint, s election.Session) { unlockAll(t, of(m), s) },
	})
}
