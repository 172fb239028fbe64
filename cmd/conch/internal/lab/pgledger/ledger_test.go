package pgledger_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/cmd/conch/internal/lab/pgledger"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

const scope = "ledger"

func TestMain(m *testing.M) {
	pgtest.Template(func(ctx context.Context, conn *pgx.Conn) error {
		url := conn.Config().ConnString()
		if err := pgmint.Up(ctx, pgmint.Config{URL: url}, func(string) {}); err != nil {
			return err
		}
		return pgledger.Create(ctx, url)
	})
	pgtest.Main(m)
}

// mintToken makes a new leader of the scope. Its session lives until the test or end ends it.
func mintToken(t *testing.T, db *pgtest.DB, id string) (token fence.Token, end func()) {
	t.Helper()
	m, err := pgmint.New(pgmint.Config{URL: db.URL})
	if err != nil {
		t.Fatal(err)
	}
	session, err := m.Open(t.Context(), mint.Candidate{
		ID: id, Lease: 10 * time.Second, Longest: 10 * time.Second, Scopes: []string{scope}, Takeover: mint.Strict,
	})
	if err != nil {
		t.Fatal(err)
	}
	end = func() { _ = session.Close(); m.Close() }
	t.Cleanup(end)
	var won []mint.Result
	pgtest.Eventually(t, 10*time.Second, "a mint", func() bool {
		won, err = session.Try(t.Context(), []mint.Bid{{Scope: scope, Lease: 10 * time.Second}})
		return err == nil && won[0].Outcome == mint.Won
	})
	return won[0].Token, end
}

func open(t *testing.T, db *pgtest.DB) *pgledger.Writer {
	t.Helper()
	w, err := pgledger.Open(t.Context(), db.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close(context.Background()) })
	return w
}

func last(t *testing.T, w *pgledger.Writer) int64 {
	t.Helper()
	seq, err := w.Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

func TestOnlyTheCurrentLeaderWrites(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	w := open(t, db)
	if seq := last(t, w); seq != 0 {
		t.Fatalf("an empty ledger ends at %d", seq)
	}
	old, end := mintToken(t, db, "old")
	for seq := range int64(3) {
		if err := w.Append(t.Context(), seq+1, old, "old"); err != nil {
			t.Fatal(err)
		}
	}
	end()
	young, _ := mintToken(t, db, "young")
	if err := w.Append(t.Context(), 4, old, "old"); !errors.Is(err, fence.ErrStale) {
		t.Fatalf("a stale leader's row: got %v, want ErrStale", err)
	}
	if seq := last(t, w); seq != 3 {
		t.Fatalf("the stale row stayed: the ledger ends at %d", seq)
	}
	if err := w.Append(t.Context(), 4, young, "young"); err != nil {
		t.Fatal(err)
	}
	rows, err := pgledger.Read(t.Context(), db.URL)
	if err != nil || len(rows) != 4 {
		t.Fatalf("got %d rows, %v; want 4", len(rows), err)
	}
	if r := rows[3]; r.Seq != 4 || r.Node != "young" || r.Term != young.Term.String() || r.Epoch != young.Epoch {
		t.Errorf("the last row is %+v, want row 4 of young", r)
	}
}

func TestALostConnectionLeavesTheOutcomeUnknown(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	w := open(t, db)
	token, _ := mintToken(t, db, "n")
	// The lock delays the row, so that the connection is lost after it was sent.
	if _, err := db.Connect(t).Exec(t.Context(), `BEGIN; LOCK TABLE ledger`); err != nil {
		t.Fatal(err)
	}
	other := db.Connect(t) // within a transaction pg_stat_activity does not change
	outcome := make(chan error, 1)
	go func() { outcome <- w.Append(t.Context(), 1, token, "n") }()
	pgtest.Eventually(t, 10*time.Second, "the row waits", func() bool {
		ended, err := other.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = $1 AND wait_event_type = 'Lock' AND query LIKE 'INSERT INTO ledger%'`, db.Name)
		return err == nil && ended.RowsAffected() == 1
	})
	if err := <-outcome; !errors.Is(err, pgledger.ErrUnknown) {
		t.Fatalf("got %v, want ErrUnknown", err)
	}
}

func TestARefusedRowIsNotUnknown(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	w := open(t, db)
	token, _ := mintToken(t, db, "n")
	if _, err := db.Connect(t).Exec(t.Context(), `ALTER TABLE ledger ADD CHECK (seq < 100)`); err != nil {
		t.Fatal(err)
	}
	err := w.Append(t.Context(), 100, token, "n")
	if err == nil || errors.Is(err, pgledger.ErrUnknown) || errors.Is(err, fence.ErrStale) {
		t.Fatalf("a row that the server refused: got %v, want an error that is neither ErrUnknown nor ErrStale", err)
	}
	if err := w.Append(t.Context(), 1, token, "n"); err != nil {
		t.Fatalf("the connection cannot be used afterwards: %v", err)
	}
}

// A duplicate must be visible, not refused.
func TestADoubleIsLetIn(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	w := open(t, db)
	token, _ := mintToken(t, db, "n")
	for range 2 {
		if err := w.Append(t.Context(), 1, token, "n"); err != nil {
			t.Fatal(err)
		}
	}
	if rows, err := pgledger.Read(t.Context(), db.URL); err != nil || len(rows) != 2 {
		t.Fatalf("got %d rows, %v; want 2", len(rows), err)
	}
}
