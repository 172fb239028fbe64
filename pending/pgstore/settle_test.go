package pgstore_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/pending/pendingtest"
	"github.com/conchhq/conch/pending/pgstore"
)

// A write that the server is carrying out is waited for: it is in the rows that are
// read after, or it has failed.
func TestSettlingWaitsForWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	pool, err := pgxpool.New(t.Context(), db.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	store := pgstore.New(pgstore.Config{Pool: pool, Chain: "evm:1", Creator: "test"})
	conn, watch := db.Connect(t), db.Connect(t)
	const claim = `SELECT conch.pending_claim('evm:1', $1, 's', 2, $2)`
	if _, err := conn.Exec(t.Context(), claim, []byte(pendingtest.Account), 6); err != nil {
		t.Fatal(err)
	}
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), claim, []byte(pendingtest.Account), 7); err != nil {
		t.Fatal(err)
	}
	settled := make(chan error, 1)
	go func() {
		settled <- store.Settle(t.Context(), fence.Token{Scope: "s", Epoch: 2}, pendingtest.Account, 8)
	}()
	pgtest.Eventually(t, 20*time.Second, "it waits for the write", func() bool {
		var waits bool
		err := watch.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE NOT l.granted AND a.datname = current_database())`).Scan(&waits)
		return err == nil && waits
	})
	select {
	case err := <-settled:
		t.Fatalf("it is settled (%v) while the write goes on", err)
	default:
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-settled; err != nil {
		t.Error(err)
	}
}
