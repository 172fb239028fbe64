package pgmint_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/migrate"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

func TestMain(m *testing.M) {
	if text := os.Getenv(crowdEnv); text != "" {
		os.Exit(beCrowd(text))
	}
	pgtest.Template(func(ctx context.Context, conn *pgx.Conn) error {
		return migrate.Up(ctx, conn, migrate.Set{Files: pgmint.Migrations()}, nil)
	})
	pgtest.Main(m)
}

func newMint(t testing.TB, url string) *pgmint.Mint {
	t.Helper()
	locks := pgmint.SessionLocks
	if strings.HasSuffix(t.Name(), "/"+byProcessName) {
		locks = pgmint.ProcessLocks
	}
	return mintWith(t, pgmint.Config{URL: url, Locks: locks})
}

const byProcessName = "by_process"

// bothWays runs a test once for each way in which the mints of newMint may keep what
// they win.
func bothWays(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	for _, name := range []string{"by_session", byProcessName} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

func mintWith(t testing.TB, cfg pgmint.Config) *pgmint.Mint {
	t.Helper()
	m, err := pgmint.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// unhurried is a lease that no step of a test outlives, however busy the machine is: with a
// short one the server ends a silent session, or a transaction past its fence, while the
// test does something else.
const unhurried = 30 * time.Second

// candidate opens a session that lives as long as the test, unless it ends it.
func candidate(t testing.TB, m *pgmint.Mint, id string, lease time.Duration, mode election.Takeover) election.Session {
	t.Helper()
	s, err := m.Open(t.Context(), election.Candidate{ID: id, Lease: lease, Longest: lease, Takeover: mode, Scopes: []string{"s"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func bid(t testing.TB, s election.Session, b election.Bid) election.Result {
	t.Helper()
	r, err := s.Try(t.Context(), []election.Bid{b})
	if err != nil {
		t.Fatal(err)
	}
	return r[0]
}

// lead wins a scope that nobody holds.
func lead(t testing.TB, s election.Session, scope string, lease time.Duration) fence.Token {
	t.Helper()
	r := bid(t, s, election.Bid{Scope: scope, Lease: lease})
	if r.Outcome != election.Won {
		t.Fatalf("bid for %q: %+v", scope, r)
	}
	return r.Token
}

// setup is a database, a mint on it, and a leader of scope "s" that lives on without a heartbeat.
func setup(t testing.TB) (*pgtest.DB, *pgmint.Mint, election.Session, fence.Token) {
	t.Helper()
	return setupFor(t, unhurried)
}

// setupFor is the same where the lease is what the test is about.
func setupFor(t testing.TB, lease time.Duration) (*pgtest.DB, *pgmint.Mint, election.Session, fence.Token) {
	t.Helper()
	db := pgtest.New(t)
	m := newMint(t, db.URL)
	a := candidate(t, m, "a", lease, election.Strict)
	return db, m, a, lead(t, a, "s", lease)
}

func run(t testing.TB, c *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := c.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// here keeps the databases of other tests out of a query of pg_locks.
const here = `database = (SELECT oid FROM pg_database WHERE datname = current_database())`
