package minttest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// Main runs the tests of a package, each on a database with the schema of the election.
func Main(m *testing.M) {
	pgtest.Template(func(ctx context.Context, conn *pgx.Conn) error {
		return pgmint.Tables.Up(ctx, conn, nil)
	})
	pgtest.Main(m)
}

// New makes a mint for a database, with ProcessLocks in the second run of BothWays, or SessionLocks.
func New(t testing.TB, url string) *pgmint.Mint {
	t.Helper()
	locks := pgmint.SessionLocks
	if strings.HasSuffix(t.Name(), "/"+ByProcess) {
		locks = pgmint.ProcessLocks
	}
	return With(t, pgmint.Config{URL: url, Locks: locks})
}

// ByProcess is the name of the second run of BothWays.
const ByProcess = "by_process"

// BothWays runs a test twice: with SessionLocks and with ProcessLocks.
func BothWays(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	for _, name := range []string{"by_session", ByProcess} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// With makes a mint that is closed when the test ends.
func With(t testing.TB, cfg pgmint.Config) *pgmint.Mint {
	t.Helper()
	m, err := pgmint.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// Unhurried is a lease that no step of a test outlives, however busy the machine is. With a
// short lease the server ends a silent session, or a transaction past its fence, while the
// test does something else.
const Unhurried = 30 * time.Second

// Candidate opens a session for scope "s" that ends with the test, unless the test closes it.
func Candidate(t testing.TB, m *pgmint.Mint, id string, lease time.Duration, mode mint.Takeover) mint.Session {
	t.Helper()
	s, err := m.Open(t.Context(), mint.Candidate{ID: id, Lease: lease, Longest: lease, Takeover: mode, Scopes: []string{"s"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Bid makes one bid.
func Bid(t testing.TB, s mint.Session, b mint.Bid) mint.Result {
	t.Helper()
	r, err := s.Try(t.Context(), []mint.Bid{b})
	if err != nil {
		t.Fatal(err)
	}
	return r[0]
}

// Lead wins a scope that nobody holds.
func Lead(t testing.TB, s mint.Session, scope string, lease time.Duration) fence.Token {
	t.Helper()
	r := Bid(t, s, mint.Bid{Scope: scope, Lease: lease})
	if r.Outcome != mint.Won {
		t.Fatalf("bid for %q: %+v", scope, r)
	}
	return r.Token
}

// Part says farewells and returns the outcome of each.
func Part(t *testing.T, s mint.Session, farewells ...mint.Farewell) []mint.Parting {
	t.Helper()
	answers, err := s.Release(t.Context(), farewells)
	if err != nil {
		t.Fatal(err)
	}
	return answers
}

// Setup makes a database, a mint, and a leader of scope "s" that needs no heartbeat during the test.
func Setup(t testing.TB) (*pgtest.DB, *pgmint.Mint, mint.Session, fence.Token) {
	t.Helper()
	return SetupFor(t, Unhurried)
}

// SetupFor is Setup with another lease.
func SetupFor(t testing.TB, lease time.Duration) (*pgtest.DB, *pgmint.Mint, mint.Session, fence.Token) {
	t.Helper()
	db := pgtest.New(t)
	m := New(t, db.URL)
	a := Candidate(t, m, "a", lease, mint.Strict)
	return db, m, a, Lead(t, a, "s", lease)
}

// Strange has unusual errors of roles and names of operators.
var Strange = []string{
	"HTTP/1.1 500 Kein Zugriff f\xfcr Sie", "nul\x00byte", "→ an arrow", "🐚", "\xf0\x9f", "ü", `quo'te "d" \ $1`, "\n\t\r",
	strings.Repeat("→", 400), strings.Repeat("x", 1<<20),
}
