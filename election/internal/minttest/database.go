package minttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
)

// Here keeps the databases of other tests out of a query of pg_locks.
const Here = `database = (SELECT oid FROM pg_database WHERE datname = current_database())`

// Run executes a statement.
func Run(t testing.TB, c *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := c.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// Text reads one text.
func Text(t *testing.T, c *pgx.Conn, sql string, args ...any) (s string) {
	t.Helper()
	if err := c.QueryRow(t.Context(), sql, args...).Scan(&s); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return s
}

// End ends a session from outside, unless the server has done so. It waits for all its locks to be
// free: a backend that ends frees its process key and the locks of scopes one after the other.
func End(t testing.TB, db *pgtest.DB, s mint.Session) {
	t.Helper()
	c, err := pg.Connect(t.Context(), db.Config()) // with a search_path of its own, past any traps
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	var pids []int32
	if err := c.QueryRow(t.Context(), `SELECT coalesce(array_agg(pid), '{}') FROM pg_locks WHERE locktype = 'advisory' AND granted
	            AND mode = 'ExclusiveLock' AND (classid::bigint << 32) | objid::bigint = $1`, s.Process()).Scan(&pids); err != nil {
		t.Fatal(err)
	}
	Run(t, c, `SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid`, pids)
	pgtest.Eventually(t, 20*time.Second, "the session to end", func() bool {
		var n int
		err := c.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE pid = ANY ($1)`, pids).Scan(&n)
		return err == nil && n == 0
	})
}

// Working makes a leader of scope "s" and leaves its fenced transaction open, in the backend pid.
func Working(t *testing.T) (db *pgtest.DB, a mint.Session, token fence.Token, act pgx.Tx, pid uint32) {
	t.Helper()
	db = pgtest.New(t)
	a = Candidate(t, New(t, db.URL), "a", Unhurried, mint.Strict)
	token = Lead(t, a, "s", Unhurried)
	app := db.Connect(t)
	act, err := app.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := pgfence.Fence(t.Context(), act, token); err != nil {
		t.Fatal(err)
	}
	return db, a, token, act, app.PgConn().PID()
}

// BlockedBy demands a BlockedError that names the backend.
func BlockedBy(t *testing.T, err error, pid uint32) {
	t.Helper()
	var blocked *pgmint.BlockedError
	if !errors.As(err, &blocked) || len(blocked.By) != 1 ||
		!strings.Contains(pgmint.Sentence(err), fmt.Sprintf("pid %d (conch-test): nothing was changed", pid)) {
		t.Errorf("got %v, want an error that names pid %d", err, pid)
	}
}

// Primary starts a server for one test, with the schema in the database postgres.
func Primary(t *testing.T) *postmaster.Server {
	t.Helper()
	primary := pgtest.Own(t, postmaster.Config{})
	if err := pgmint.Up(t.Context(), pgmint.Config{URL: Database(primary).URL}, nil); err != nil {
		t.Fatal(err)
	}
	return primary
}

// Database returns the database postgres of a server.
func Database(s *postmaster.Server) *pgtest.DB {
	return &pgtest.DB{Name: "postgres", URL: s.URL("postgres")}
}

// Pages counts the pages that a statement reads, with those of statements inside it.
func Pages(t *testing.T, c *pgx.Conn, sql string, args ...any) int {
	t.Helper()
	var plans []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	var text []byte
	if err := c.QueryRow(t.Context(), `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) `+sql, args...).Scan(&text); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	if err := json.Unmarshal(text, &plans); err != nil || len(plans) != 1 {
		t.Fatalf("%s: %v", text, err)
	}
	return plans[0].Plan.Hit + plans[0].Plan.Read
}

// Unscanned runs f inside a transaction of c, and fails the test if f made the server read
// the history from end to end.
func Unscanned(t *testing.T, c *pgx.Conn, what string, f func()) {
	t.Helper()
	Run(t, c, `BEGIN`)
	f()
	var scans int64
	if err := c.QueryRow(t.Context(), `SELECT coalesce(sum(seq_scan), 0)::bigint FROM pg_stat_xact_all_tables WHERE relname = 'leadership_history'`).Scan(&scans); err != nil {
		t.Fatal(err)
	}
	Run(t, c, `COMMIT`)
	if scans != 0 {
		t.Errorf("%s scans the whole history, %d times", what, scans)
	}
}
