package pgstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pendingtest"
	"github.com/conchhq/conch/pending/pgstore"
)

// The election's own schema is not for this wing to know; a fence of its kind, which
// takes epoch 2 and refuses every other, stands in for it. The real one guards the
// real store in the tests of the binary.
const standIn = `
	CREATE FUNCTION conch.fence(scope text, epoch bigint, term uuid) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
	    IF epoch <> 2 THEN
	        RAISE EXCEPTION USING ERRCODE = 'CN001', MESSAGE = 'stale';
	    END IF;
	END $$`

func TestMain(m *testing.M) {
	pgtest.Template(func(ctx context.Context, conn *pgx.Conn) error {
		if err := pgstore.Up(ctx, conn, nil); err != nil {
			return err
		}
		_, err := conn.Exec(ctx, standIn)
		return err
	})
	pgtest.Main(m)
}

func open(t *testing.T) *pgstore.Store {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), pgtest.New(t).URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pgstore.New(pgstore.Config{Pool: pool, Chain: "evm:1", Fenced: true, Creator: "test"})
}

func TestStore(t *testing.T) {
	t.Parallel()
	pendingtest.Exercise(t, func(t *testing.T) pendingtest.Fixture {
		store := open(t)
		return pendingtest.Fixture{
			Store:   store,
			Current: fence.Token{Scope: "s", Epoch: 2, Holder: "a"}, Stale: fence.Token{Scope: "s", Epoch: 1, Holder: "b"},
		}
	})
}

// One account is never sent from under two scopes.
func TestTwoScopes(t *testing.T) {
	t.Parallel()
	store := open(t)
	nothing := pending.Batch{Account: pendingtest.Account}
	if err := store.Write(t.Context(), fence.Token{Scope: "s", Epoch: 2}, nothing); err != nil {
		t.Fatal(err)
	}
	if err := store.Write(t.Context(), fence.Token{Scope: "other", Epoch: 2}, nothing); !errors.Is(err, pgstore.ErrTaken) {
		t.Errorf("another scope: %v", err)
	}
}

// An intent wakes whoever listens, and a line that was lost says that something may
// have been missed.
func TestListen(t *testing.T) {
	t.Parallel()
	db, err := pgstore.Open(t.Context(), pgtest.New(t).Config(), 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	if err := db.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	up, woken, ended := make(chan struct{}, 9), make(chan string, 9), make(chan error, 1)
	go func() {
		ended <- db.Listen(ctx, func(id string, account chain.Account) { woken <- id + " " + account.String() }, func() { up <- struct{}{} })
	}()
	wait(t, up)
	if _, err := db.Store("evm:1", "test").Accept(t.Context(), pending.Intent{Account: pendingtest.Account}); err != nil {
		t.Fatal(err)
	}
	if got := wait(t, woken); got != "evm:1 "+pendingtest.Account.String() {
		t.Error(got)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// wait is for what has to come, however busy the machine is.
func wait[T any](t *testing.T, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(30 * time.Second):
		t.Fatal("nothing came")
	}
	return v
}
