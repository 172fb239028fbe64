package pgmint_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
	"github.com/conchhq/conch/internal/runtest"
)

// S1: the suite passes through a pooler in session mode. By day TestSharedPoolsAreRefused and the
// tests of the program use one.
func TestConformanceThroughPgBouncer(t *testing.T) {
	t.Parallel()
	runtest.NightRun(t)
	// There are thirty databases at once: the idle connections of the pool must not add up.
	b := pgtest.New(t).PgBouncer(t, pgtest.SessionMode, "server_idle_timeout = 1")
	exercise(t, func(db *pgtest.DB) string { return b.URL(db.Name) }, pgmint.SessionLocks, pgmint.ProcessLocks)
}

// S1: through a pool that shares backends no session opens and no Wait begins. A candidate is told why
// and leads nothing.
func TestSharedPoolsAreRefused(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{pgtest.TransactionMode, pgtest.StatementMode} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			address := db.PgBouncer(t, mode).URL(db.Name)
			m := newMint(t, address)
			for _, takeover := range []mint.Takeover{mint.Strict, mint.Fast, mint.Keep} {
				_, err := m.Open(t.Context(), mint.Candidate{ID: "a", Lease: time.Second, Takeover: takeover, Scopes: []string{"s"}})
				sharing(t, mode, "Open, "+string(takeover), err)
			}
			_, err := m.Wait(t.Context(), 4711)
			sharing(t, mode, "Wait", err)
			sharing(t, mode, "Check", pgmint.Check(t.Context(), pgmint.Config{URL: address}))

			facts := campaign(t, address, 0, nil)
			f := facts.await(t, election.Retrying)
			sharing(t, mode, "an elector", f.Err)
			var rows int
			if err := db.Connect(t).QueryRow(t.Context(), `SELECT count(*) FROM conch.leadership`).Scan(&rows); err != nil || rows != 0 {
				t.Errorf("got %d rows in conch.leadership, %v, want none", rows, err)
			}
		})
	}
}

func sharing(t *testing.T, mode, what string, err error) {
	t.Helper()
	if refused, ok := errors.AsType[*pg.PoolerError](err); !ok || refused.Mode != mode || refused.Name != "PgBouncer" {
		t.Errorf("%s: got %v, want a PoolerError", what, err)
	}
}

// S1, S4, S11: a leader that is cut off from its pooler in session mode shuts its gate, and has a
// successor after its lease, like one that was stopped. It was warned about the pooler.
func TestSilenceBeforePgBouncer(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	const lease = time.Second
	db := pgtest.New(t)
	b := db.PgBouncer(t, pgtest.SessionMode)
	proxy, err := tcpproxy.New(b.SocketPath())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	first := campaign(t, pgtest.ThroughURL(proxy.Addr(), db.Name), lease, nil)
	wait(t, first.Elector, fence.Act)
	var pooled *pg.PooledError
	if f := first.await(t, election.Cautioned); !errors.As(f.Err, &pooled) {
		t.Errorf("the warning: got %v, want a PooledError", f.Err)
	}
	second := campaign(t, b.URL(db.Name), lease, nil)
	proxy.Blackhole(tcpproxy.Both)
	wait(t, second.Elector, fence.Act)
	if first.Gate("s").IsOpen(fence.Fenced) {
		t.Error("the gate of the leader that was cut off is open")
	}
	proxy.Heal()
	first.await(t, election.Following)
}

// unnamed connects as an application does whose driver prepares no named statements.
func unnamed(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	return pgtest.Connect(t, pg.Config{URL: address, Unnamed: true})
}

// Fenced transactions of applications work through a pool in transaction mode: the locks and settings
// of a fence last for one transaction, and so does the backend.
func TestFenceThroughPgBouncer(t *testing.T) {
	t.Parallel()
	db, m, a, token := setup(t)
	address := db.PgBouncer(t, pgtest.TransactionMode, "default_pool_size = 1").URL(db.Name)
	app, neighbour := unnamed(t, address), unnamed(t, address)
	fenced := func(token fence.Token) error {
		return pgx.BeginFunc(t.Context(), app, func(tx pgx.Tx) error { return pgfence.Fence(t.Context(), tx, token) })
	}
	if err := fenced(token); err != nil {
		t.Fatal(err)
	}
	// The neighbour gets the backend, without locks or settings of the fence.
	var locks int
	var idle string
	err := neighbour.QueryRow(t.Context(), `SELECT count(*), current_setting('idle_in_transaction_session_timeout')
		FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()`).Scan(&locks, &idle)
	if err != nil || locks != 0 || idle != "0" {
		t.Errorf("left on the backend: %d locks, idle_in_transaction_session_timeout = %s, %v", locks, idle, err)
	}
	// An open fence keeps the mint out, also through the pool.
	tx, err := app.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := pgfence.Fence(t.Context(), tx, token); err != nil {
		t.Fatal(err)
	}
	unlockAll(t, db, a)
	next := candidate(t, m, "b", unhurried, mint.Strict)
	if r := bid(t, next, mint.Bid{Scope: "s", Lease: unhurried}); r.Outcome != mint.Busy {
		t.Errorf("a bid beside an open fence: got %+v, want Busy", r)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Error(err)
	}
	lead(t, next, "s", unhurried)
	if err := fenced(token); !errors.Is(err, fence.ErrStale) {
		t.Errorf("a stale token through the pool: got %v, want ErrStale", err)
	}
}

// The server ends a client that freezes after its fence, behind a pool in transaction mode, once the
// lease is over. The pool goes on without it.
func TestFrozenFenceBehindPgBouncer(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, _, _, token := setupFor(t, time.Second)
	address := db.PgBouncer(t, pgtest.TransactionMode, "default_pool_size = 1").URL(db.Name)
	tx, err := unnamed(t, address).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := pgfence.Fence(t.Context(), tx, token); err != nil {
		t.Fatal(err)
	}
	// The only backend is taken: the neighbour's query waits until it is free.
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := unnamed(t, address).Ping(ctx); err != nil {
		t.Errorf("the pool did not recover: %v", err)
	}
	if err := tx.Commit(t.Context()); err == nil {
		t.Error("the frozen transaction was committed")
	}
}
