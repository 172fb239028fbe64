package pgmint_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// A heartbeat that must settle a term whose row is locked does not wait: it renews all terms, this one
// too, and a later heartbeat settles the term without being asked again.
func TestSettlingWaitsForNobody(t *testing.T) { t.Parallel(); bothWays(t, settlingWaitsForNobody) }

func settlingWaitsForNobody(t *testing.T) {
	t.Helper()
	db := pgtest.New(t)
	m := newMint(t, db.URL)
	crashed := candidate(t, m, "crashed", 2*unhurried, mint.Strict)
	lead(t, crashed, "x", 2*unhurried)
	unlockAll(t, db, crashed)
	a, err := m.Open(t.Context(), mint.Candidate{
		ID: "a", Lease: unhurried, Longest: unhurried, LockTimeout: 100 * time.Millisecond, Takeover: mint.Strict, Scopes: []string{"x", "y"},
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
		alive, err := a.Beat(t.Context(), []mint.Pulse{{Token: x, Settle: settle}, {Token: y}})
		if err != nil || alive[0] != mint.Renewed || alive[1] != mint.Renewed {
			t.Fatalf("the heartbeat: got %v, %v, want Renewed twice", alive, err)
		}
		if got := hold(); got != want {
			t.Fatalf("got a hold of %s for a successor, want %s", got, want)
		}
	}
	tx, err := db.Connect(t).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `SELECT FROM conch.leadership WHERE scope = 'x' FOR SHARE`); err != nil {
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

// A stranger has locked rows that only conch writes. No call of a lock session waits for them. Only what
// a locked row stands for is not renewed: one scope, or with ProcessLocks all of the process (L6).
func TestAHeartbeatWaitsForNobody(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T) {
		t.Helper()
		db := pgtest.New(t)
		m := newMint(t, db.URL)
		a := candidate(t, m, "a", unhurried, mint.Strict)
		s, quiet := lead(t, a, "s", unhurried), lead(t, a, "quiet", unhurried)
		run(t, db.Connect(t), `INSERT INTO conch.process (process_key, id, scopes, lease_ms, takeover, locks, last_seen)
			VALUES (7, 'gone', '{}', 1000, 'strict', 'session', now() - interval '2 days')`)
		beats := func(what string, want ...mint.Outcome) {
			t.Helper()
			if got, err := a.Beat(t.Context(), []mint.Pulse{{Token: s}, {Token: quiet}}); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: got %v, %v; want %v", what, got, err, want)
			}
		}
		byProcess := strings.HasSuffix(t.Name(), "/"+byProcessName)
		stranger, err := db.Connect(t).Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		lock := func(sql string, args ...any) {
			t.Helper()
			if _, err := stranger.Exec(t.Context(), sql, args...); err != nil {
				t.Fatal(err)
			}
		}
		one, all := mint.Locked, mint.Renewed
		if byProcess {
			one = mint.Renewed
		}
		lock(`SELECT FROM conch.heartbeat WHERE scope = 's' FOR UPDATE`)
		beats("one heartbeat is locked", one, mint.Renewed)
		lock(`SELECT FROM conch.process WHERE process_key IN (7, $1) FOR UPDATE`, a.Process())
		if byProcess {
			one, all = mint.Locked, mint.Locked
		}
		beats("and the process", one, all)
		run(t, pgmint.Conn(a), `SELECT conch.seen($1)`, a.Process())
		b := candidate(t, m, "b", unhurried, mint.Strict) // deletes process 7, not seen for two days, if its row is free
		parts(t, a, mint.Farewell{Token: s, Released: true})
		r, err := b.Try(t.Context(), []mint.Bid{{Scope: "s", Lease: unhurried, Explain: true}, {Scope: "new", Lease: unhurried}})
		if err != nil || r[0].Outcome != mint.Locked || !strings.Contains(r[0].Why.Error(), "its row is locked by pid ") || r[1].Outcome != mint.Won {
			t.Errorf("bids: got %+v, %v, want s locked by a row and new won", r, err)
		}
		if err := stranger.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		lead(t, b, "s", unhurried)
		beats("none is locked", mint.Over, mint.Renewed)
	})
}
