package pgraw_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/cmd/conch/internal/lab/pgraw"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

func TestMain(m *testing.M) {
	pgtest.Template(func(ctx context.Context, conn *pgx.Conn) error {
		return pgmint.Up(ctx, pgmint.Config{URL: conn.Config().ConnString()}, func(string) {})
	})
	pgtest.Main(m)
}

// Run does not wait for ever for a row that the server holds up.
func TestAHangingLoadIsInterrupted(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	load, err := pgraw.OpenLoad(t.Context(), db.URL, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(load.Close)
	tx, err := db.Connect(t).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `LOCK TABLE payload IN ACCESS EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, ends := load.Run(ctx, pgraw.Style{}); ends[0] != nil {
		t.Errorf("a load stopped before it began: got %v, want nil", ends)
	}
	ctx, stop = context.WithCancel(t.Context())
	defer stop()
	ended := make(chan []error, 1)
	go func() {
		_, ends := load.Run(ctx, pgraw.Style{})
		ended <- ends
	}()
	admin := db.Connect(t)
	pgtest.Eventually(t, time.Minute, "both rows wait for the table", func() bool {
		var n int
		err := admin.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&n)
		return err == nil && n == 2
	})
	stop()
	pgtest.Within(t, time.Minute, "the load ends", func() {
		if ends := <-ended; ends[0] == nil || ends[1] == nil {
			t.Errorf("got %v, want an error for both interrupted rows", ends)
		}
	})
}
