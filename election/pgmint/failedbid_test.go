package pgmint_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/election/internal/minttest"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// A bid that fails frees the lock of the scope, which outlives the transaction: a candidate that
// cannot mint must not keep the scope from those that can.
func TestAFailedBidKeepsNoLock(t *testing.T) {
	t.Parallel()
	c := minttest.Granted(t)
	admin := c.DB.Connect(t)
	m := mintWith(t, pgmint.Config{URL: c.As(t, c.Node)})
	a, b := candidate(t, m, "a", unhurried, mint.Strict), candidate(t, m, "b", unhurried, mint.Strict)
	fails := func() {
		t.Helper()
		run(t, admin, fmt.Sprintf(`REVOKE INSERT ON conch.heartbeat FROM %q`, c.Node))
		_, err := a.Try(t.Context(), []mint.Bid{{Scope: "s", Lease: unhurried}})
		if pg.Code(err) != "42501" {
			t.Fatalf("a bid without a privilege: got %v, want SQLSTATE 42501", err)
		}
		run(t, admin, fmt.Sprintf(`GRANT INSERT ON conch.heartbeat TO %q`, c.Node))
	}
	fails()
	token := lead(t, b, "s", unhurried)

	// Nor does it keep the lock that it held while it waited for the fence.
	tx, err := c.DB.Connect(t).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := pgfence.Fence(t.Context(), tx, token); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Release(t.Context(), []mint.Farewell{{Token: token, Released: true}}); err != nil {
		t.Fatal(err)
	}
	if r := bid(t, a, mint.Bid{Scope: "s", Lease: unhurried}); r.Outcome != mint.Busy {
		t.Fatalf("bid under a fence: got %+v, want Busy", r)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	fails()
	lead(t, b, "s", unhurried)
}

// A transaction has inserted the first row of a scope and does not commit. A bid for that scope fails
// and says why; another scope in the same statement is won at once (L6).
func TestAFirstRowThatIsNotCommitted(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T) {
		t.Helper()
		db := pgtest.New(t)
		a := candidate(t, newMint(t, db.URL), "a", unhurried, mint.Strict)
		operator, err := db.Connect(t).Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := operator.Exec(t.Context(), `SELECT conch.advance('s', 7, 'ops')`); err != nil {
			t.Fatal(err)
		}
		bids := []mint.Bid{{Scope: "quiet", Lease: unhurried}, {Scope: "s", Lease: unhurried, Explain: true}}
		r, err := a.Try(t.Context(), bids)
		if err != nil || r[0].Outcome != mint.Won || r[1].Outcome != mint.Locked || !strings.Contains(r[1].Why.Error(), "its fence is held by pid ") {
			t.Fatalf("got %+v, %v, want quiet won, and s locked with its reason", r, err)
		}
		if err := operator.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if token := lead(t, a, "s", unhurried); token.Epoch != 8 {
			t.Errorf("after the commit: got %v, want epoch 8", token)
		}
	})
}

// Open fails if it cannot free the lock that the rehearsal took.
func TestARehearsalThatCanNotBeTakenBack(t *testing.T) {
	t.Parallel()
	c := minttest.Granted(t)
	admin := c.DB.Connect(t)
	run(t, admin, `REVOKE EXECUTE ON FUNCTION pg_advisory_unlock(bigint) FROM PUBLIC`)
	m := mintWith(t, pgmint.Config{URL: c.As(t, c.Node)})
	s, err := m.Open(t.Context(), mint.Candidate{ID: "a", Lease: unhurried, Longest: unhurried, Takeover: mint.Strict, Scopes: []string{"s"}})
	if err == nil {
		_ = s.Close()
	}
	if pg.Code(err) != "42501" {
		t.Errorf("Open returned %v, want SQLSTATE 42501", err)
	}
	pgtest.Eventually(t, 10*time.Second, "its locks to be free", func() bool {
		var n int
		return admin.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND `+here).Scan(&n) == nil && n == 0
	})
}
