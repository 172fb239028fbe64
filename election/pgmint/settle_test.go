package pgmint_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// A fenced transaction with an old snapshot shares the row of its leadership until it ends.
// A heartbeat that is to settle this term waits for nobody: it renews all, that one too, and
// a later one settles it, without being told to once more.
func TestSettlingWaitsForNoFence(t *testing.T) { t.Parallel(); bothWays(t, settlingWaitsForNoFence) }

func settlingWaitsForNoFence(t *testing.T) {
	t.Helper()
	db := pgtest.New(t)
	m := newMint(t, db.URL)
	crashed := candidate(t, m, "crashed", 2*unhurried, election.Strict)
	lead(t, crashed, "x", 2*unhurried)
	unlockAll(t, db, crashed)
	a, err := m.Open(t.Context(), election.Candidate{
		ID: "a", Lease: unhurried, Longest: unhurried, LockTimeout: 100 * time.Millisecond, Takeover: election.Strict, Scopes: []string{"x", "y"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	x, y := lead(t, a, "x", unhurried), lead(t, a, "y", unhurried)
	admin := db.Connect(t)
	hold := func() (hold time.Duration) {
		t.Helper()
		var ms int64
		if err := admin.QueryRow(t.Context(), `SELECT hold_ms FROM conch.leadership WHERE scope = 'x'`).Scan(&ms); err != nil {
			t.Fatal(err)
		}
		return time.Duration(ms) * time.Millisecond
	}
	beat := func(settle bool, want time.Duration) {
		t.Helper()
		alive, err := a.Beat(t.Context(), []election.Pulse{{Token: x, Settle: settle}, {Token: y}})
		if err != nil || !alive[0] || !alive[1] {
			t.Fatalf("the heartbeat: %v, %v", alive, err)
		}
		if got := hold(); got != want {
			t.Fatalf("a successor would wait for %s, want %s", got, want)
		}
	}
	tx, err := db.Connect(t).BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	if err := pgmint.Fence(t.Context(), tx, x); err != nil {
		t.Fatal(err)
	}
	beat(true, 2*unhurried)
	beat(false, 2*unhurried)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	beat(false, unhurried)
	beat(false, unhurried)
}
