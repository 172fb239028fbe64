// Package pgaccount reads from the database the transactions of the only account in it: their
// progress, for a live view, and all rows, for a judge. It reads the tables directly and
// shares no code with what fills them.
package pgaccount

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
)

// Reader is one connection. It must not be used concurrently.
type Reader struct{ conn *pgx.Conn }

// Open connects.
func Open(ctx context.Context, url string) (*Reader, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	return &Reader{conn}, nil
}

// Close closes the connection.
func (r *Reader) Close(ctx context.Context) { _ = r.conn.Close(ctx) }

// Progress counts the transactions.
type Progress struct {
	Intents int   // accepted
	Done    int   // final in the chain
	Open    int   // neither done nor given up
	Nonce   int64 // next nonce to be assigned
}

// Progress returns the current counts.
func (r *Reader) Progress(ctx context.Context) (p Progress, err error) {
	err = r.conn.QueryRow(ctx, `
		SELECT count(*), count(*) FILTER (WHERE fate = 'done'), count(*) FILTER (WHERE fate = 'open'),
		       (SELECT coalesce(max(nonce) + 1, 0) FROM conch.pending_transactions)
		  FROM conch.intents`).Scan(&p.Intents, &p.Done, &p.Open, &p.Nonce)
	return p, err
}

// FirstSince returns when the first transaction at or after an instant was signed and stored;
// the zero time if there is none.
func (r *Reader) FirstSince(ctx context.Context, at time.Time) (time.Time, error) {
	var first *time.Time
	err := r.conn.QueryRow(ctx, `SELECT min(created_at) FROM conch.pending_transactions WHERE created_at >= $1`, at).Scan(&first)
	if err != nil || first == nil {
		return time.Time{}, err
	}
	return *first, nil
}

// epochsSQL finds the terms of a scope in which something was signed and stored. The fence
// ensures that a term stores nothing after the next one has begun.
const epochsSQL = `
SELECT h.epoch
  FROM (SELECT epoch, at, lead(at) OVER (ORDER BY epoch) AS until
          FROM conch.leadership_history WHERE scope = $1 AND event = 'acquired') h
 WHERE EXISTS (SELECT FROM (SELECT created_at FROM conch.pending_transactions UNION ALL SELECT created_at FROM conch.archived_transactions) t
                WHERE t.created_at >= h.at AND (h.until IS NULL OR t.created_at < h.until))`

const intentsSQL = `
SELECT id::text, fate, nonce, '0x' || encode(to_account, 'hex'), value::text, '0x' || encode(data, 'hex')
  FROM (SELECT id, fate, nonce, to_account, value, data FROM conch.intents
         UNION ALL SELECT id, fate, nonce, to_account, value, data FROM conch.archived_intents) i`

const noncesSQL = `SELECT nonce FROM conch.pending_transactions UNION ALL SELECT nonce FROM conch.archived_transactions`

const hashesSQL = `
SELECT '0x' || encode(hash, 'hex')
  FROM (SELECT hash FROM conch.pending_attempts UNION ALL SELECT hash FROM conch.archived_attempts) a`

// Left reads all rows, archived ones included, into a. The scope is the account's.
func (r *Reader) Left(ctx context.Context, scope string, a *evidence.Account) (err error) {
	if a.Epochs, err = collect[int64](ctx, r, epochsSQL, pgx.RowTo, scope); err != nil {
		return err
	}
	if a.Intents, err = collect[evidence.Intent](ctx, r, intentsSQL, asIntent); err != nil {
		return err
	}
	if a.Nonces, err = collect[uint64](ctx, r, noncesSQL, pgx.RowTo); err != nil {
		return err
	}
	a.Hashes, err = collect[string](ctx, r, hashesSQL, pgx.RowTo)
	return err
}

func collect[T any](ctx context.Context, r *Reader, sql string, to pgx.RowToFunc[T], args ...any) ([]T, error) {
	rows, _ := r.conn.Query(ctx, sql, args...) // they have its error
	return pgx.CollectRows(rows, to)
}

func asIntent(row pgx.CollectableRow) (in evidence.Intent, err error) {
	var to, value, data string
	err = row.Scan(&in.ID, &in.Fate, &in.Nonce, &to, &value, &data)
	in.Deed = evidence.Deed(to, value, data)
	return in, err
}
