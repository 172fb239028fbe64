package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgpool"
)

// Store is the connections to the database that has alerts. It is an [alerts.Store] and an [alerts.Post], and safe for concurrent use.
type Store struct{ pools *pgpool.Pools }

var (
	_ alerts.Store = (*Store)(nil)
	_ alerts.Post  = (*Store)(nil)
)

// Connection names a database: its URL (empty: the PG* variables), how its server is verified (TLSCAFile, TLSInsecure), and the AppName under
// which pg_stat_activity shows the connections. Connection of a pgmint.Config returns one too.
type Connection = pg.Config

// mostTrimmed is how many samples are deleted with one report.
const mostTrimmed = 200

// Open returns a Store with up to two connections for each of writes and lookups, and does not connect yet.
func Open(ctx context.Context, at Connection) (*Store, error) {
	pools, err := pgpool.Open(ctx, at, 2, 2)
	if err != nil {
		return nil, err
	}
	return &Store{pools: pools}, nil
}

// Close closes the connections after the statements under way have ended.
func (s *Store) Close() { s.pools.Close() }

// Check returns an error that says why if this program cannot work with the tables.
func (s *Store) Check(ctx context.Context) error { return Tables.Check(ctx, s.pools.Readers) }

// Record implements [alerts.Store].
func (s *Store) Record(ctx context.Context, t fence.Token, rows alerts.Rows) error {
	args, err := encode(rows)
	if err != nil {
		return err
	}
	var batch pgx.Batch
	batch.Queue(pg.Durable)
	batch.Queue(`SELECT conch.alert_record($1, $2, $3, $4, $5::text[]::jsonb[], $6, $7, $8, $9, $10, $11, $12, $13, $14)`, args...)
	pgfence.Queue(&batch, t)
	return pgfence.Stale(s.pools.Commit(ctx, &batch))
}

// Report implements [alerts.Post].
func (s *Store) Report(ctx context.Context, r alerts.Report) (out alerts.Reported, err error) {
	var batch pgx.Batch
	batch.Queue(pg.Durable)
	batch.Queue(`SELECT evaluations, nodes FROM conch.alert_report($1, $2, $3, $4, $5, $6, pg_catalog.make_interval(secs => $7), $8)`,
		r.Name, r.Life, r.Seq, r.Cries, r.Hash, r.Body, r.Keep.Seconds(), mostTrimmed).QueryRow(func(row pgx.Row) error { return row.Scan(&out.Evaluations, &out.Nodes) })
	return out, s.pools.Commit(ctx, &batch)
}

// Claim implements [alerts.Post].
func (s *Store) Claim(ctx context.Context, node string, evaluation uint64) (mine bool, err error) {
	var batch pgx.Batch
	batch.Queue(pg.Durable)
	batch.Queue(`SELECT conch.alert_claim($1, $2)`, node, evaluation).QueryRow(func(row pgx.Row) error { return row.Scan(&mine) })
	return mine, s.pools.Commit(ctx, &batch)
}

// Samples returns what nodes have reported since, above an id and without some that were read, in that order. An id may come after a higher one
// whose transaction was quicker: a caller that reads on asks from some ids before, without those that it has.
func (s *Store) Samples(ctx context.Context, after int64, without []int64) ([]alerts.Sample, error) {
	rows, err := s.pools.Readers.Query(ctx, `SELECT id, node, life, seq, at, body FROM conch.alert_samples
		WHERE id OPERATOR(pg_catalog.>) $1 AND NOT id OPERATOR(pg_catalog.=) ANY (coalesce($2::bigint[], '{}')) ORDER BY id`, after, without)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[alerts.Sample])
}

// SetSilence sets a silence, or changes the one of its id. The error says what is wrong with it, or that the database was not asked.
func (s *Store) SetSilence(ctx context.Context, one alerts.Silence) error {
	if err := one.Validate(); err != nil {
		return err
	}
	matchers, err := text(one.Matchers)
	if err != nil {
		return err
	}
	var batch pgx.Batch
	batch.Queue(pg.Durable)
	batch.Queue(`INSERT INTO conch.silences (id, matchers, since, until, by, comment) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT ON CONSTRAINT silences_pkey DO UPDATE SET matchers = excluded.matchers, since = excluded.since, until = excluded.until, by = excluded.by, comment = excluded.comment`,
		one.ID, matchers, one.Since, one.Until, clean(one.By), clean(one.Comment))
	return s.pools.Commit(ctx, &batch)
}

// EndSilence ends a silence now, and reports whether there was one that lasted.
func (s *Store) EndSilence(ctx context.Context, id string) (ended bool, err error) {
	var batch pgx.Batch
	batch.Queue(pg.Durable)
	batch.Queue(`UPDATE conch.silences SET until = pg_catalog.now() WHERE id OPERATOR(pg_catalog.=) $1 AND until OPERATOR(pg_catalog.>) pg_catalog.now() RETURNING true`, id).
		Query(func(rows pgx.Rows) error {
			ended = rows.Next()
			rows.Close()
			return rows.Err()
		})
	return ended, s.pools.Commit(ctx, &batch)
}

// instant is a time as it is stored: null if it is zero.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}
