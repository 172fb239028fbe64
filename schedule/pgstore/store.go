package pgstore

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgpool"
	"github.com/conchhq/conch/schedule"
	"github.com/conchhq/conch/schedule/internal/core"
)

// Store is the connections to the database that has crons and jobs. It is a [schedule.Store], and safe for concurrent use.
type Store struct {
	pools *pgpool.Pools
	at    Connection
	looks atomic.Int64 // that the database has had, as far as this process knows
}

var _ schedule.Store = (*Store)(nil)

// Connection names a database: its URL (empty: the PG* variables), how its server is verified (TLSCAFile, TLSInsecure), and the AppName under
// which pg_stat_activity shows the connections. Connection of a pgmint.Config returns one too.
type Connection = pg.Config

// patience limits a write. One that takes longer counts as one without an answer.
const patience = 30 * time.Second

// Open returns a Store with up to most connections for each of writes and lookups, and does not connect yet.
func Open(ctx context.Context, at Connection, most int) (*Store, error) {
	pools, err := pgpool.Open(ctx, at, max(most, 2), max(most, 2))
	if err != nil {
		return nil, err
	}
	return &Store{pools: pools, at: at}, nil
}

// Close closes the connections after the statements under way have ended.
func (s *Store) Close() { s.pools.Close() }

// Check returns an error that says why if this program cannot work with the tables.
func (s *Store) Check(ctx context.Context) error { return Tables.Check(ctx, s.pools.Readers) }

// instant is the database's clock as the last statement before a commit reads it. now() would be older by what the transaction has taken, and a leader
// that counts from it wakes as much too late.
const instant = `SELECT clock_timestamp()`

// Read implements [schedule.Store]. It is one round trip over the connection that the next write has, too.
func (s *Store) Read(ctx context.Context, r schedule.Read) (out schedule.Loaded, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var server Server
	var looks int64
	var batch pgx.Batch
	queueRead(&batch, r, s.looks.Load(), &out, func(row pgx.Row) (err error) {
		looks, err = server.scan(row)
		return err
	})
	if err := s.pools.Commit(ctx, &batch); err != nil {
		return schedule.Loaded{}, err
	}
	s.looks.Store(looks)
	out.At, out.Restored = out.At.UTC(), server.Restored
	return out, nil
}

func queueRead(batch *pgx.Batch, r schedule.Read, looks int64, out *schedule.Loaded, server func(pgx.Row) error) {
	batch.Queue(pg.Durable)
	batch.Queue(lookSQL, looks).QueryRow(server)
	batch.Queue(cronsSQL, r.Known, r.Crons).Query(func(rows pgx.Rows) (err error) {
		out.Crons, err = collectCrons(rows)
		return err
	})
	batch.Queue(instant).QueryRow(func(row pgx.Row) error { return row.Scan(&out.At) })
}

// cronsSQL reads crons with their revisions from the one in force on: those above an id, some more, and all that have one to adopt.
const cronsSQL = `
	SELECT c.id, c.name, c.newest, c.adopted, c.cursor_at, c.cursor_wall, c.floor_at, v.n, v.definition, v.since, v.retired
	  FROM conch.crons c JOIN conch.cron_revisions v ON v.cron = c.id AND v.n >= c.adopted
	 WHERE (c.id > $1 OR c.id = ANY ($2) OR c.adopted <> c.newest) AND NOT (c.retired AND c.adopted = c.newest)
	 ORDER BY c.id, v.n`

func collectCrons(rows pgx.Rows) (all []core.Cron, err error) {
	for rows.Next() {
		var c core.Cron
		var v core.Revision
		var cursor, wall, floor *time.Time
		var definition []byte
		if err := rows.Scan(&c.ID, &c.Name, &c.Newest, &c.Adopted, &cursor, &wall, &floor, &v.N, &definition, &v.Since, &v.Retired); err != nil {
			return nil, err
		}
		if err := decode(definition, &v.Definition); err != nil {
			return nil, err
		}
		v.Since, c.Cursor, c.Floor = v.Since.UTC(), core.Cursor{At: orZero(cursor), Wall: orZero(wall)}, orZero(floor)
		if last := len(all) - 1; last < 0 || all[last].ID != c.ID {
			all = append(all, c)
		}
		last := &all[len(all)-1]
		last.Revisions = append(last.Revisions, v)
	}
	return all, rows.Err()
}

// many is how many moves are written over two connections at once.
const many = 100

// Write implements [schedule.Store]. Of many moves each half is a transaction, at the same time: crons have nothing to do with one another, and the server
// has a processor for each. If one of them fails, nobody says what has become of the other.
func (s *Store) Write(ctx context.Context, t fence.Token, w schedule.Write) (out schedule.Written, err error) {
	if len(w.Moves) < many {
		return s.writeFree(ctx, t, w)
	}
	half := len(w.Moves) / 2
	var rest schedule.Written
	var failed error
	var beside sync.WaitGroup
	beside.Go(func() { rest, failed = s.writeFree(ctx, t, schedule.Write{Moves: w.Moves[half:]}) })
	out, err = s.writeFree(ctx, t, schedule.Write{Moves: w.Moves[:half], Prunes: w.Prunes})
	beside.Wait()
	if err := errors.Join(err, failed); err != nil {
		return schedule.Written{}, err
	}
	if rest.At.Before(out.At) { // that came first, and is older by now
		rest.At = out.At
	}
	return schedule.Written{At: rest.At, Moved: append(out.Moved, rest.Moved...), Ends: append(out.Ends, rest.Ends...)}, nil
}

// writeFree writes what it can: somebody may hold the lane of a cron in a transaction of his own, and then that one waits, and no other.
func (s *Store) writeFree(ctx context.Context, t fence.Token, w schedule.Write) (out schedule.Written, err error) {
	out, err = s.write(ctx, t, w)
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || refused.Code != lockNotAvailable {
		return out, err
	}
	for _, m := range w.Moves {
		one, failed := s.write(ctx, t, schedule.Write{Moves: []core.Move{m}})
		if errors.Is(failed, fence.ErrStale) {
			return out, failed
		}
		if failed == nil {
			out.At, out.Moved, out.Ends = one.At, append(out.Moved, one.Moved...), append(out.Ends, one.Ends...)
			err = nil
		}
	}
	return out, err
}

// lockNotAvailable is what a statement fails with that has waited for a lock for too long.
const lockNotAvailable = "55P03"

func (s *Store) write(ctx context.Context, t fence.Token, w schedule.Write) (out schedule.Written, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var batch pgx.Batch
	if err := queueWrite(&batch, t, w, &out); err != nil {
		return out, err
	}
	pgfence.Queue(&batch, t)
	if err := pgfence.Stale(s.pools.Commit(ctx, &batch)); err != nil {
		return schedule.Written{}, err
	}
	out.At = out.At.UTC()
	return out, nil
}

func queueWrite(batch *pgx.Batch, t fence.Token, w schedule.Write, out *schedule.Written) error {
	moves, err := encode(w.Moves)
	if err != nil {
		return err
	}
	batch.Queue(durableHasty)
	batch.Queue(`SELECT cron, at, outcome, job FROM conch.cron_move($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`, append(moves, t.Scope, t.Epoch)...).Query(func(rows pgx.Rows) error { return collect(rows, out) })
	for _, p := range w.Prunes {
		batch.Queue(`UPDATE conch.crons SET floor_at = $2 WHERE id = $1 AND cursor_at >= $2`, p.Cron, p.Upto).Exec(func(tag pgconn.CommandTag) error {
			if tag.RowsAffected() > 0 {
				out.Moved = append(out.Moved, p.Cron)
			}
			return nil
		})
		batch.Queue(`DELETE FROM conch.cron_runs r USING (
			SELECT x.at FROM conch.crons c JOIN conch.cron_runs x ON x.cron = c.id AND x.at <= c.floor_at WHERE c.id = $1 ORDER BY x.at LIMIT $2) o
			WHERE r.cron = $1 AND r.at = o.at`, p.Cron, mostTrimmed) // what is left goes with what is trimmed
	}
	batch.Queue(instant).QueryRow(func(row pgx.Row) error { return row.Scan(&out.At) })
	return nil
}

// durableHasty begins a transaction that does not wait for long for what somebody else has locked.
const durableHasty = pg.Durable + `, pg_catalog.set_config('lock_timeout', '100ms', true)`

func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// collect reads what came of moves: a row without a time says that a cron has moved.
func collect(rows pgx.Rows, out *schedule.Written) error {
	for rows.Next() {
		var e core.End
		var at *time.Time
		var outcome *string
		var job *int64
		if err := rows.Scan(&e.Cron, &at, &outcome, &job); err != nil {
			return err
		}
		if at == nil {
			out.Moved = append(out.Moved, e.Cron)
			continue
		}
		e.At, e.Outcome, e.Job = at.UTC(), *outcome, *job
		out.Ends = append(out.Ends, e)
	}
	return rows.Err()
}
