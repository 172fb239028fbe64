package pgops_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/election/internal/minttest"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

// observe connects an observer that is closed when the test ends.
func observe(t *testing.T, url string) *pgops.Observer {
	t.Helper()
	o, err := pgops.Observe(t.Context(), pgmint.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Close)
	return o
}

// status reads one scope.
func status(t *testing.T, o *pgops.Observer, scope string) pgops.ScopeStatus {
	t.Helper()
	all, err := o.Scopes(t.Context(), scope)
	if err != nil || len(all) != 1 {
		t.Fatalf("the status of %q is %+v, %v; want one", scope, all, err)
	}
	return all[0]
}

// S25: an observer works through a pool in transaction mode, whose notifications it
// never hears: its polls find what happened, also when others use the same backend.
func TestObserversThroughPgBouncer(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, _, _, _ := setup(t)
	address := db.PgBouncer(t, pgtest.TransactionMode, "default_pool_size = 3").URL(db.Name)
	var seen [2]atomic.Bool
	ctx, cancel := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	defer func() { cancel(); ended.Wait() }()
	for i := range seen {
		o := observe(t, address)
		if s := status(t, o, "s"); s.Holder != "a" {
			t.Fatalf("got %+v, want a as holder", s)
		}
		ended.Go(func() {
			err := o.Watch(ctx, "s", func(pgops.Event) error { seen[i].Store(true); return nil })
			if err != nil {
				t.Error(err)
			}
		})
	}
	c := db.Connect(t)
	pgtest.Eventually(t, 20*time.Second, "both to see what happens from now on", func() bool {
		run(t, c, `INSERT INTO conch.leadership_history (scope, epoch, holder, event) VALUES ('s', 1, 'a', 'lost')`)
		return seen[0].Load() && seen[1].Load()
	})
}

// S13: the view leader_heartbeat, the status and the answer to a bid agree on how old the
// heartbeat is that stands for a scope, also if it is one for the whole process.
func TestHeartbeatAgesByProcess(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	m := mintWith(t, pgmint.Config{URL: db.URL, Locks: pgmint.ProcessLocks})
	a, b := candidate(t, m, "a", unhurried, mint.Strict), candidate(t, m, "b", unhurried, mint.Strict)
	token := lead(t, a, "t", unhurried)
	c, o := db.Connect(t), observe(t, db.URL)
	const hour = 3600_000
	ages := func() (view, shown, told int64) {
		t.Helper()
		if err := c.QueryRow(t.Context(), `SELECT (extract(epoch FROM clock_timestamp() - last_seen) * 1000)::bigint
			FROM conch.leader_heartbeat WHERE provider_id = 't' AND instance_id = 'a'`).Scan(&view); err != nil {
			t.Fatal(err)
		}
		return view, status(t, o, "t").HeartbeatAgeMS, bid(t, b, mint.Bid{Scope: "t", Lease: time.Second}).Age.Milliseconds()
	}
	run(t, c, `UPDATE conch.heartbeat SET beat_at = beat_at - interval '1 hour'`)
	run(t, c, `UPDATE conch.process SET last_seen = last_seen - interval '1 hour'`)
	if view, shown, told := ages(); view < hour || shown < hour || told < hour {
		t.Errorf("after a silent hour the heartbeat is %d, %d and %d ms old, want an hour", view, shown, told)
	}
	if alive, err := a.Beat(t.Context(), []mint.Pulse{{Token: token}}); err != nil || alive[0] != mint.Renewed {
		t.Fatal(alive, err)
	}
	if view, shown, told := ages(); view > hour/2 || shown > hour/2 || told > hour/2 {
		t.Errorf("after a heartbeat it is %d, %d and %d ms old, want less than half an hour", view, shown, told)
	}
	// A scope that was given up has no heartbeat any more, though its last holder has.
	parts(t, a, mint.Farewell{Token: token})
	if s := status(t, o, "t"); s.Held || s.HeartbeatAgeMS < hour {
		t.Errorf("a scope that was given up: got %+v, want it not held, and its heartbeat an hour old", s)
	}
}

// No look that has a limit reads a long history from end to end. Counted in pages, since time
// depends on the machine.
func TestALookAtALongHistory(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, _, _, _ := setup(t)
	c := db.Connect(t)
	run(t, c, `INSERT INTO conch.leadership_history (scope, epoch, holder, event)
	           SELECT 'scope ' || g % 1000, g, 'somebody', 'acquired' FROM generate_series(1, 200000) g`)
	run(t, c, `ANALYZE conch.leadership_history`)
	o := observe(t, db.URL)
	minttest.Unscanned(t, pgops.ObserverConn(o), "a look", func() {
		if all, err := o.Scopes(t.Context(), ""); err != nil || len(all) != 1 {
			t.Errorf("got the scopes %v, %v, want one", all, err)
		}
		for scope, want := range map[string]int{"": 10, "scope 7": 10, "unknown": 0} {
			if events, err := o.History(t.Context(), scope, 10); err != nil || len(events) != want {
				t.Errorf("got %d events of %q, %v, want %d", len(events), scope, err, want)
			}
		}
	})
	// Nor does it walk all of it backwards in search of a scope without a history.
	pages := minttest.Pages(t, c, `SELECT id FROM conch.leadership_history WHERE scope = 'unknown' ORDER BY id DESC LIMIT 10`)
	if pages > 50 {
		t.Errorf("looking for a scope without a history reads %d pages, want at most 50", pages)
	}
}

// `conch status` reads each long list of scopes in conch.process once, and not once for each
// scope. Counted in pages.
func TestStatusReadsListsOfScopesOnce(t *testing.T) {
	t.Parallel()
	const scopes, processes = 2000, 3
	db := pgtest.New(t)
	c := db.Connect(t)
	minttest.ManyScopes(t, c, scopes)
	pages := func() int { return minttest.Pages(t, c, pgops.ScopesSQL, "") }
	for range 2 { // the first ones read the catalog as well
		pages()
	}
	alone := pages()
	minttest.Campaigners(t, c, scopes, processes)
	if more := pages() - alone; more > 5*scopes*processes { // the rows of leadership, found by their index
		t.Errorf("the status of %d scopes reads %d pages more with %d processes, want at most %d", scopes, more, processes, 5*scopes*processes)
	}
	if s := status(t, observe(t, db.URL), minttest.FirstOfMany); len(s.Candidates) != processes {
		t.Errorf("got the candidates %q, want %d", s.Candidates, processes)
	}
}
