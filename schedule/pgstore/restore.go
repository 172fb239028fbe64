package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is what is known of the server that has the rows.
type Server struct {
	At       time.Time // by the database's clock
	Restored time.Time // when the rows of a backup were found last; zero: never
	Held     bool      // since then nothing is taken, until [Store.Release]
}

// Server looks whether the server is the one that it was, and its rows no older than before, and notes if not. Call it now and then, also where nobody
// leads: a restore that leaves no trace in the database, as that of a disk's snapshot, is known to those alone who remember what was there.
func (s *Store) Server(ctx context.Context) (out Server, err error) {
	var looks int64
	err = s.commit(ctx, func(row pgx.Row) (err error) {
		looks, err = out.scan(row)
		return err
	}, lookSQL, s.looks.Load())
	if err == nil {
		s.looks.Store(looks)
	}
	return out, err
}

const lookSQL = `SELECT looks, restored_at, held, now() FROM conch.schedule_look($1)`

// Held reads what is known of the server, and notes nothing.
func (s *Store) Held(ctx context.Context) (out Server, err error) {
	_, err = out.scan(s.pools.Readers.QueryRow(ctx, `SELECT looks, restored_at, held, now() FROM conch.schedule_server`))
	return out, err
}

func (s *Server) scan(row pgx.Row) (looks int64, err error) {
	var restored *time.Time
	err = row.Scan(&looks, &restored, &s.Held, &s.At)
	s.Restored, s.At = orZero(restored), s.At.UTC()
	return looks, err
}

// Release has jobs taken again that were held after a restore, and reports whether they were.
func (s *Store) Release(ctx context.Context) (did bool, err error) {
	err = s.durably(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `UPDATE conch.schedule_server SET held = false WHERE held`)
		if did = err == nil && tag.RowsAffected() > 0; did {
			_, err = tx.Exec(ctx, `SELECT pg_notify('conch_job', conch.job_word('', '-infinity')) WHERE pg_notification_queue_usage() < 0.5`)
		}
		return err
	})
	return did, err
}
