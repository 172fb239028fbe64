package pgmint_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// exchanges counts the writes of a connection; each request of pgx is one write.
type exchanges struct {
	net.Conn
	n *atomic.Int64
}

func (c exchanges) Write(b []byte) (int, error) {
	c.n.Add(1)
	return c.Conn.Write(b)
}

func dialCounted(t *testing.T, db *pgtest.DB) (*pgx.Conn, *atomic.Int64) {
	t.Helper()
	cfg, err := pgx.ParseConfig(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	sent, dial := &atomic.Int64{}, cfg.DialFunc
	cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		return exchanges{c, sent}, err
	}
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn, sent
}

// The fence costs no round trip, since it is sent with the COMMIT. A transaction that is refused or fails
// is rolled back, and its connection can be used again.
func TestTransact(t *testing.T) {
	t.Parallel()
	db, m, a, old := setup(t)
	run(t, db.Connect(t), `CREATE TABLE deed (n int PRIMARY KEY)`)
	app, sent := dialCounted(t, db)
	write := func(token fence.Token, n int, after func() error) error {
		return pgfence.Transact(t.Context(), app, token, func(tx pgfence.Tx) error {
			if _, err := tx.Exec(t.Context(), `INSERT INTO deed VALUES ($1)`, n); err != nil {
				return err
			}
			return after()
		})
	}
	well := func() error { return nil }
	for n := range 3 {
		before := sent.Load()
		if err := write(old, n, well); err != nil {
			t.Fatal(err)
		}
		if n > 0 && sent.Load()-before != 3 { // the first one prepares
			t.Errorf("got %d requests for BEGIN, INSERT, and fence with COMMIT, want 3", sent.Load()-before)
		}
	}
	own := errors.New("changed its mind")
	if err := write(old, 10, func() error { return own }); !errors.Is(err, own) {
		t.Error(err)
	}
	if err := write(old, 0, well); err == nil {
		t.Error("the same row twice: got no error, want one")
	}
	if err := write(old, 11, func() error { // it swallows the error that ended the transaction
		_, _ = app.Exec(t.Context(), `SELECT 1/0`)
		return nil
	}); err == nil || errors.Is(err, fence.ErrStale) {
		t.Errorf("a transaction that had failed: got %v, want an error that is not ErrStale", err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = write(old, 12, func() error { panic("in the middle") })
	}()
	if err := write(old, 13, func() error { return write(old, 14, well) }); err == nil {
		t.Error("a transaction in a transaction: got no error, want one")
	}

	current := depose(t, db, a, candidate(t, m, "b", unhurried, mint.Strict))
	if err := write(old, 20, well); !errors.Is(err, fence.ErrStale) {
		t.Errorf("with the old token: got %v, want ErrStale", err)
	}
	if err := write(current, 21, well); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := pgfence.Transact(ctx, app, current, func(tx pgfence.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO deed VALUES (22)`)
		cancel()
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before the COMMIT: got %v, want Canceled", err)
	}
	rows, err := db.Connect(t).Query(t.Context(), `SELECT n FROM deed ORDER BY n`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if want := []int{0, 1, 2, 21}; err != nil || len(got) != len(want) || got[3] != 21 {
		t.Errorf("got the rows %v, want %v; error %v", got, want, err)
	}
}
