package pgmint_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/runtest"
)

// Sixteen clients hold a fence in turns, and the leader dies. The first bid that finds the fence busy
// gives up the leader's term, so no further transaction passes: the successor wins as soon as those
// under way have ended, and evicts none (R2, L5).
func TestNobodyIsEndedWhoComesAndGoes(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	for name, of := range map[string]float64{"short": 0.12, "nearly a lease": 0.75} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bothWays(t, func(t *testing.T) { t.Helper(); comesAndGoes(t, of) })
		})
	}
}

func comesAndGoes(t *testing.T, share float64) {
	t.Helper()
	const lease = 3 * time.Second
	db, _, a, old := setup(t)
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	defer clients.Wait()
	defer cancel()
	var passed atomic.Int64
	for i := range 16 {
		conn := db.Connect(t)
		work := fmt.Sprintf(`SELECT pg_sleep(%f)`, lease.Seconds()*(share+0.005*float64(i)))
		clients.Go(func() {
			for ctx.Err() == nil {
				err := pgfence.Transact(ctx, conn, old, func(tx pgfence.Tx) error {
					if err := pgfence.Fence(ctx, tx, old); err != nil {
						return err
					}
					passed.Add(1)
					_, err := tx.Exec(ctx, work)
					return err
				})
				if err != nil {
					if ctx.Err() == nil && !errors.Is(err, fence.ErrStale) {
						t.Errorf("a client: got %v, want ErrStale or no error", err)
					}
					return
				}
			}
		})
	}
	pgtest.Eventually(t, time.Minute, "all to hold the fence in turns", func() bool { return passed.Load() > 40 })
	e := streamElector(t, db, "b", lease, new(atomic.Pointer[fence.Token])) // fails the test at an eviction
	unlockAll(t, db, a)
	pgtest.Eventually(t, time.Minute, "the successor", func() bool { return e.Gate("s").IsOpen(fence.Fenced) })
	c := db.Connect(t)
	if n := text(t, c, `SELECT count(*)::text FROM conch.leadership_history WHERE event IN ('evicted', 'blocked')`); n != "0" {
		t.Errorf("got %s evictions in the history, want none", n)
	}
	if got := released(t, c, "s"); got != "lost its session ended without a farewell" {
		t.Errorf("got the history %q, want one term lost without a farewell", got)
	}
}

// A prepared transaction that holds the fence has no session to end. Bids name it with the statement
// that ends it, the history names it once, and after that statement the scope can be won (R8).
func TestAPreparedFenceIsNamed(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, postmaster.Config{Settings: map[string]string{"max_prepared_transactions": "4"}})
	url := server.URL("postgres")
	c := pgtest.Connect(t, pg.Config{URL: url})
	if err := pgmint.Tables.Up(t.Context(), c, nil); err != nil {
		t.Fatal(err)
	}
	m := newMint(t, url)
	a := candidate(t, m, "a", unhurried, mint.Strict)
	token := lead(t, a, "s", unhurried)
	run(t, c, `BEGIN`)
	if err := pgfence.Fence(t.Context(), c, token); err != nil {
		t.Fatal(err)
	}
	run(t, c, `PREPARE TRANSACTION 'half done'`)
	parts(t, a, mint.Farewell{Token: token, Released: true})
	b := candidate(t, m, "b", unhurried, mint.Strict)
	var r mint.Result
	ask := func() bool {
		r = bid(t, b, mint.Bid{Scope: "s", Lease: 3 * time.Second, Block: time.Millisecond, Evict: true})
		return len(r.Blockers) > 0
	}
	pgtest.Eventually(t, time.Minute, "the transaction to be older than a lease", ask)
	if !ask() || r.Outcome != mint.Busy || r.Blockers[0].Ended || r.Blockers[0].PID != 0 ||
		!strings.Contains(r.Blockers[0].What, `ROLLBACK PREPARED 'half done'`) {
		t.Errorf("got %+v, want Busy and the statement that ends the prepared transaction", r)
	}
	if got := text(t, c, `SELECT string_agg(event || ' ' || reason, '; ') FROM conch.leadership_history WHERE event IN ('evicted', 'blocked')`); !strings.HasPrefix(got, "blocked ") || strings.Contains(got, "; ") {
		t.Errorf("got the history %q, want one entry, blocked", got)
	}
	run(t, c, `ROLLBACK PREPARED 'half done'`)
	if r := bid(t, b, mint.Bid{Scope: "s", Lease: unhurried}); r.Outcome != mint.Won {
		t.Errorf("a bid after the rollback: got %+v, want Won", r)
	}
}

// A lock session overrides the settings of its role and its database (R3, R10).
func TestSettingsOfALockSession(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner := db.Connect(t)
	for _, set := range []string{"statement_timeout = '3s'", "lock_timeout = '1h'", "idle_session_timeout = '1h'", "default_transaction_isolation = 'serializable'"} {
		run(t, owner, `ALTER DATABASE `+db.Name+` SET `+set)
	}
	s := candidate(t, newMint(t, db.URL), "a", 20*time.Second, mint.Strict)
	conn := pgmint.Conn(s)
	for name, want := range map[string]string{
		"statement_timeout": "10s", "lock_timeout": "2s", "idle_session_timeout": "20s", "default_transaction_isolation": "read committed",
	} {
		if got := text(t, conn, `SELECT current_setting($1)`, name); got != want {
			t.Errorf("%s = %s, want %s", name, got, want)
		}
	}
}
