//go:build linux

package stage

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg/postmaster"
)

// A late commit is stale, whenever its row began.
func TestALateCommitIsStale(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	own := settings()
	maps.DeleteFunc(own, func(name, _ string) bool { return name == "shared_preload_libraries" }) // from a package that not every system has
	server, err := postmaster.Start(ctx, postmaster.Config{Settings: own})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	s := &store{url: server.URL("postgres")}
	open := func() *pgx.Conn {
		conn, err := pgx.Connect(ctx, s.url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(ctx)) })
		return conn
	}
	seq := 0
	row := func(conn *pgx.Conn, epoch int) {
		t.Helper()
		seq++
		_, err := conn.Exec(ctx, `INSERT INTO ledger (seq, epoch, term, node) VALUES ($1, $2, gen_random_uuid(), 'x')`, seq, epoch)
		if err != nil {
			t.Fatal(err)
		}
	}
	want := func(stale int, when string) {
		t.Helper()
		if n, err := s.stale(ctx); err != nil || n != stale {
			t.Errorf("%s: got %d stale rows, want %d: %v", when, n, stale, err)
		}
	}
	one, two := open(), open()
	if _, err := one.Exec(ctx, ledger); err != nil {
		t.Fatal(err)
	}
	row(one, 1)
	row(two, 2)
	row(two, 2)
	want(0, "in order")
	tx, err := one.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	row(one, 2)
	row(two, 3)
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	want(1, "begun before a row of epoch 3 and committed after it")
	row(two, 1)
	want(2, "begun and committed after it")
}
