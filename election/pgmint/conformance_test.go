package pgmint_test

import (
	"sync"
	"testing"

	"github.com/conchhq/conch/election/electiontest"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

// Both kinds of locks pass the suite of the mint in memory, on a real server. Sessions that are cut off
// need real processes and connections: see the chaos tests.
func TestConformance(t *testing.T) {
	t.Parallel()
	kinds := []pgmint.Locks{pgmint.SessionLocks}
	if runtest.Whole() {
		kinds = append(kinds, pgmint.ProcessLocks)
	}
	exercise(t, func(db *pgtest.DB) string { return db.URL }, kinds...)
}

// exercise runs the suite on mints that connect to the address of each database.
func exercise(t *testing.T, address func(*pgtest.DB) string, kinds ...pgmint.Locks) {
	t.Helper()
	other := map[pgmint.Locks]pgmint.Locks{pgmint.SessionLocks: pgmint.ProcessLocks, pgmint.ProcessLocks: pgmint.SessionLocks}
	for _, locks := range kinds {
		t.Run(string(locks), func(t *testing.T) {
			t.Parallel()
			electiontest.Exercise(t, harness(locks, other[locks], address))
		})
	}
}

func harness(locks, others pgmint.Locks, address func(*pgtest.DB) string) electiontest.Harness {
	var databases sync.Map // mint.Mint → *pgtest.DB
	of := func(m mint.Mint) *pgtest.DB {
		db, _ := databases.Load(m)
		return db.(*pgtest.DB)
	}
	return electiontest.Harness{
		New: func(t *testing.T) mint.Mint {
			db := pgtest.New(t)
			m := mintWith(t, pgmint.Config{URL: address(db), Locks: locks})
			databases.Store(m, db)
			return m
		},
		Beside: func(t *testing.T, m mint.Mint) mint.Mint {
			return mintWith(t, pgmint.Config{URL: address(of(m)), Locks: others})
		},
		Fence: func(t *testing.T, m mint.Mint, token fence.Token) (func() error, error) {
			db := of(m)
			tx, err := pgtest.Connect(t, pg.Config{URL: address(db)}).Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := pgfence.Fence(t.Context(), tx, token); err != nil {
				return nil, err
			}
			return func() error { return tx.Commit(t.Context()) }, nil
		},
		Kill: func(t *testing.T, m mint.Mint, s mint.Session) { unlockAll(t, of(m), s) },
		Unlock: func(t *testing.T, _ mint.Mint, s mint.Session) {
			if err := pgmint.UnlockAll(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		},
		Advance: func(t *testing.T, m mint.Mint, scope string) {
			advance(t, of(m).Connect(t), scope, 100)
		},
	}
}
