package pgmint_test

import (
	"errors"
	"testing"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// insideSQL is a whole transaction, which writes only if the fence passes.
const insideSQL = `INSERT INTO work SELECT $1::int FROM conch.fence($2, $3, $4)`

// The fence may be part of the INSERT that it protects. It locks and reads while that statement runs,
// whose snapshot is older, and the lock lasts until the commit.
func TestFenceInsideAStatement(t *testing.T) {
	t.Parallel()
	db, m, a, old := setup(t)
	app := db.Connect(t)
	run(t, app, `CREATE TABLE work (n int)`)
	write := func(tx pgfence.Querier, n int, token fence.Token) error {
		_, err := tx.Exec(t.Context(), insideSQL, n, token.Scope, token.Epoch, [16]byte(token.Term))
		return pgfence.Stale(err)
	}
	if err := write(app, 1, old); err != nil {
		t.Fatal(err)
	}
	tx, err := app.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := write(tx, 2, old); err != nil {
		t.Fatal(err)
	}
	unlockAll(t, db, a)
	b := candidate(t, m, "b", unhurried, mint.Strict)
	if r := bid(t, b, mint.Bid{Scope: "s", Lease: unhurried}); r.Outcome != mint.Busy {
		t.Fatalf("bid under a fence inside a statement: got %+v, want Busy", r)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := bid(t, b, mint.Bid{Scope: "s", Lease: unhurried}); r.Outcome != mint.Won {
		t.Fatalf("bid after the commit: got %+v, want Won", r)
	}
	if err := write(app, 3, old); !errors.Is(err, fence.ErrStale) {
		t.Fatalf("a deposed leader's statement: got %v, want ErrStale", err)
	}
	var rows []int
	if err := app.QueryRow(t.Context(), `SELECT array_agg(n ORDER BY n) FROM work`).Scan(&rows); err != nil || len(rows) != 2 || rows[0] != 1 || rows[1] != 2 {
		t.Errorf("got the rows %v, %v, want 1 and 2", rows, err)
	}
}

// A statement that began before the mint and reached the fence after it is refused.
func TestFenceInsideAStatementThatWaited(t *testing.T) {
	t.Parallel()
	db, _, _, old := setup(t)
	app, minting := db.Connect(t), db.Connect(t)
	run(t, app, `CREATE TABLE work (n int)`)
	tx, err := minting.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `SELECT pg_advisory_xact_lock(conch.fence_key('s'))`); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	pid := app.PgConn().PID()
	go func() {
		_, err := app.Exec(t.Context(), insideSQL, 1, old.Scope, old.Epoch, [16]byte(old.Term))
		ended <- err
	}()
	pgtest.Eventually(t, 10*time.Second, "the statement to wait for the fence", func() bool {
		var waits bool
		err := tx.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $1 AND NOT granted)`, pid).Scan(&waits)
		return err == nil && waits
	})
	if _, err := tx.Exec(t.Context(), `UPDATE conch.leadership SET epoch = epoch + 1, term = gen_random_uuid() WHERE scope = 's'`); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(pgfence.Stale(err), fence.ErrStale) {
		t.Errorf("a statement that waited for a mint: got %v, want ErrStale", err)
	}
	var n int
	if err := db.Connect(t).QueryRow(t.Context(), `SELECT count(*) FROM work`).Scan(&n); err != nil || n != 0 {
		t.Errorf("the statement wrote %d rows, %v, want none", n, err)
	}
}
