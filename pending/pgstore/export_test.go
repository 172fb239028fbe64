package pgstore

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// InIntake returns the number of callers that wait for a statement to begin.
func (s *Store) InIntake() int {
	s.intake.mu.Lock()
	defer s.intake.mu.Unlock()
	return len(s.intake.waiting)
}

const MaxWaiting = maxWaiting

// Database returns the one that a store is of.
func (s *Store) Database() *Database { return s.db }

// OpenWide is like Open, with connections that keep the search_path they find, as behind a pooler.
func OpenWide(ctx context.Context, cfg pg.Config, most int) (*Database, error) {
	d, err := Open(ctx, cfg, most)
	if err == nil {
		err = pgtest.Widen(ctx, d.pools)
	}
	return d, err
}

// Known returns the number of prepared statements of the connection that is used next.
func (d *Database) Known(ctx context.Context) (n int, err error) {
	err = d.pools.Writers.QueryRow(ctx, `SELECT count(*) FROM pg_prepared_statements`).Scan(&n)
	return n, err
}

// Flush makes the server publish the statistics of one connection of each pool.
func (d *Database) Flush(ctx context.Context) error {
	const flush = `SELECT pg_stat_force_next_flush()`
	_, err := d.pools.Writers.Exec(ctx, flush)
	_, other := d.pools.Readers.Exec(ctx, flush)
	return errors.Join(err, other)
}

// Trips returns a store whose exchanges with the database are counted.
func (s *Store) Trips() (*Store, *int) {
	n := 0
	return &Store{db: s.db, cfg: s.cfg, pool: trips{s.pool, &n}}, &n
}

type trips struct {
	querier
	n *int
}

func (t trips) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	*t.n++
	return t.querier.Query(ctx, sql, args...)
}

func (t trips) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	*t.n++
	return t.querier.QueryRow(ctx, sql, args...)
}

func (t trips) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	*t.n++
	return t.querier.SendBatch(ctx, b)
}

// NewID returns a new intent's ID.
var NewID = newID
