package pgmint_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/runtest"
)

// scopes returns n names of scopes.
func scopes(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("scope-%05d", i)
	}
	return all
}

func bidsFor(scopes []string) []mint.Bid {
	bids := make([]mint.Bid, len(scopes))
	for i, s := range scopes {
		bids[i] = mint.Bid{Scope: s, Lease: 20 * time.Second}
	}
	return bids
}

func crowdOf(scopes []string) mint.Candidate {
	return mint.Candidate{ID: "a", Lease: 20 * time.Second, Longest: 20 * time.Second, Takeover: mint.Strict, Scopes: scopes}
}

// small starts a server with a small lock table: 100 places, and a few more for its own processes.
func small(t *testing.T) string {
	t.Helper()
	srv := pgtest.Own(t, postmaster.Config{MaxConnections: 10, Settings: map[string]string{
		"max_locks_per_transaction": "10", "autovacuum": "off", // so that nothing else takes locks
	}})
	if err := pgmint.Up(t.Context(), pgmint.Config{URL: srv.URL("postgres")}, nil); err != nil {
		t.Fatal(err)
	}
	return srv.URL("postgres")
}

// newcomer connects as psql does, and makes a query.
func newcomer(t *testing.T, url string) error {
	t.Helper()
	c, err := pg.Connect(t.Context(), pg.Config{URL: url})
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
	_, err = c.Exec(t.Context(), `SELECT count(*) FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid JOIN pg_type ON pg_type.oid = atttypid`)
	return err
}

// A candidate with more scopes than the lock budget is refused before it takes a lock, and the error
// says what to do.
func TestOverBudgetIsRefused(t *testing.T) {
	t.Parallel()
	url := small(t)
	m := newMint(t, url)
	watching := pgtest.Connect(t, pg.Config{URL: url})
	_, err := m.Open(t.Context(), crowdOf(scopes(200)))
	var over *pgmint.LockBudgetError
	if !errors.As(err, &over) || over.Scopes != 200 || over.Need != 202 || over.Budget != 25 || over.Table != 100 || !errors.Is(err, mint.ErrBarred) {
		t.Fatalf("got %v (%+v), want a LockBudgetError for 200 scopes", err, over)
	}
	for _, want := range []string{"200 scopes", "202", "25", "lock budget", "max_locks_per_transaction", `locks of kind "process"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the refusal does not contain %q: %v", want, err)
		}
	}
	var held, registered int
	if err := watching.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'), (SELECT count(*) FROM conch.process)`).Scan(&held, &registered); err != nil || held+registered != 0 {
		t.Errorf("got %d advisory locks and %d processes after a refusal, %v, want none", held, registered, err)
	}
	if err := newcomer(t, url); err != nil {
		t.Errorf("a newcomer: %v", err)
	}
	// Fewer scopes fit, and the locks of other sessions of the process count.
	s, err := m.Open(t.Context(), crowdOf(scopes(20)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Open(t.Context(), crowdOf(scopes(10))); !errors.As(err, &over) || over.Used != 21 {
		t.Errorf("a second session beyond the budget: got %v, want a LockBudgetError with 21 locks in use", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err = m.Open(t.Context(), crowdOf(scopes(10)))
	if err != nil {
		t.Fatalf("once the first session has ended: %v", err)
	}
	_ = s.Close()
	// With ProcessLocks a scope needs no lock, and bids are split to fit.
	p := mintWith(t, pgmint.Config{URL: url, Locks: pgmint.ProcessLocks})
	s, err = p.Open(t.Context(), crowdOf(scopes(200)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	left := bidsFor(scopes(200))
	for len(left) > 0 {
		rs, err := s.Try(t.Context(), left)
		if err != nil || len(rs) == 0 || len(rs) > 24 {
			t.Fatalf("%d bids: got %d results, %v, want 1 to 24", len(left), len(rs), err)
		}
		for _, r := range rs {
			if r.Outcome != mint.Won {
				t.Fatalf("got %+v, want Won", r)
			}
		}
		left = left[len(rs):]
	}
	if err := newcomer(t, url); err != nil {
		t.Errorf("a newcomer beside 200 scopes by process: %v", err)
	}
}

// Without the budget the lock table fills, and the server refuses new connections. The session that
// filled it makes fewer bids, returns Full once there is no room for one, and is not lost.
func TestFullLockTable(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	url := small(t)
	m := mintWith(t, pgmint.Config{URL: url, LockBudget: 1_000_000})
	other := pgtest.Connect(t, pg.Config{URL: url})
	s, err := m.Open(t.Context(), crowdOf(scopes(20_000)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	left := bidsFor(scopes(20_000))
	var pulses []mint.Pulse
	full := false
	for len(left) > 0 && !full {
		rs, err := s.Try(t.Context(), left)
		if err != nil {
			t.Fatalf("after %d scopes: %v", len(pulses), err)
		}
		for _, r := range rs {
			if r.Outcome == mint.Full {
				full = true
				continue
			}
			pulses = append(pulses, mint.Pulse{Token: r.Token})
		}
		left = left[len(rs):]
	}
	if !full || len(pulses) < 25 {
		t.Fatalf("%d scopes were won, Full = %v; want at least 25, and Full", len(pulses), full)
	}
	// The failed bid has freed its lock. Another connection takes that place.
	fill := func() (n int) {
		for {
			if _, err := other.Exec(t.Context(), `SELECT pg_advisory_lock($1)`, n); err != nil {
				return n
			}
			n++
		}
	}
	t.Logf("%d places were left", fill())
	err = newcomer(t, url)
	t.Logf("%d scopes fill the table; a newcomer: %v", len(pulses), err)
	if pg.Code(err) != "53200" {
		t.Errorf("a newcomer beside a full lock table: got %v, want SQLSTATE 53200", err)
	}
	// A transaction that writes needs a place too: heartbeats fail, but the session is not lost.
	if _, err := s.Beat(t.Context(), pulses); pg.Code(err) != "53200" || errors.Is(err, mint.ErrSessionLost) {
		t.Errorf("a heartbeat beside a full lock table: got %v, want SQLSTATE 53200 and not ErrSessionLost", err)
	}
	run(t, other, `SELECT pg_advisory_unlock_all()`)
	alive, err := s.Beat(t.Context(), pulses)
	if err != nil || len(alive) != len(pulses) || alive[0] != mint.Renewed || alive[len(alive)-1] != mint.Renewed {
		t.Errorf("heartbeats with room in the lock table: got an error %v, or a term that is not Renewed", err)
	}
	// Failed bids left no locks: with room in the table, bids are won again.
	farewells := []mint.Farewell{}
	for _, p := range pulses[:20] {
		farewells = append(farewells, mint.Farewell{Token: p.Token, Released: true})
	}
	if _, err := s.Release(t.Context(), farewells); err != nil {
		t.Fatal(err)
	}
	if err := newcomer(t, url); err != nil {
		t.Errorf("a newcomer with room in the lock table: %v", err)
	}
	if rs, err := s.Try(t.Context(), left[:1]); err != nil || rs[0].Outcome != mint.Won {
		t.Errorf("a bid with room in the lock table: got %+v, %v, want Won", rs, err)
	}
}

// An elector over budget reports Barred, and not that the database is away. With ProcessLocks it leads
// all scopes.
func TestElectorOverBudget(t *testing.T) {
	t.Parallel()
	url := small(t)
	begin := func(locks pgmint.Locks) <-chan election.Fact {
		facts := make(chan election.Fact, 1000)
		cfg := election.Config{
			Mint: mintWith(t, pgmint.Config{URL: url, Locks: locks}), ID: string(locks), Logger: slog.New(slog.DiscardHandler),
			Events: election.Events{Fact: func(f election.Fact) {
				select {
				case facts <- f:
				default:
				}
			}},
		}
		for _, scope := range scopes(200) {
			cfg.Roles = append(cfg.Roles, election.Role{Scope: scope})
		}
		e, err := election.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _ = e.Run(ctx) }()
		t.Cleanup(func() { cancel(); <-done })
		return facts
	}
	f := <-begin(pgmint.SessionLocks)
	var over *pgmint.LockBudgetError
	if f.Kind != election.Barred || f.Scope != "" || !errors.As(f.Err, &over) {
		t.Errorf("the first fact: got %+v, want Barred with a LockBudgetError", f)
	}
	led := 0
	for f := range begin(pgmint.ProcessLocks) {
		if f.Kind == election.Retrying || f.Kind == election.Barred {
			t.Errorf("got %+v, want no failure", f)
		}
		if f.Kind == election.Acquired {
			led++
		}
		if led == 200 {
			break
		}
	}
}
