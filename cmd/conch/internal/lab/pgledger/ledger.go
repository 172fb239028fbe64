// Package pgledger is a table in Postgres that is written behind the fenced door: each row is
// inserted in one transaction with conch.fence().
//
// The sequence numbers have no unique constraint. Otherwise the database would refuse a
// duplicate, and a run could not show that none is attempted.
package pgledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
)

// xid is 64 bits wide and never wraps. It orders rows by when their transaction began to write.
const schema = `
CREATE TABLE ledger (
    seq   bigint NOT NULL,
    epoch bigint NOT NULL,
    term  uuid NOT NULL,
    node  text NOT NULL,
    at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    xid   xid8 NOT NULL DEFAULT pg_current_xact_id()
);
CREATE INDEX ledger_seq ON ledger (seq);`

const (
	insertRow = `INSERT INTO ledger (seq, epoch, term, node) VALUES ($1, $2, $3, $4)`
	lastRow   = `SELECT coalesce(max(seq), 0) FROM ledger`
)

// ErrUnknown says that a row may or may not have been committed. Only a later term can tell:
// once it is minted, no earlier term commits any more.
var ErrUnknown = errors.New("the outcome of the commit is unknown")

// Create creates the table.
func Create(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	_, err = conn.Exec(ctx, schema)
	return err
}

// Writer is one connection to the ledger.
type Writer struct{ conn *pgx.Conn }

// Open connects and prepares, so that a new leader's first row costs only one round trip.
func Open(ctx context.Context, url string) (*Writer, error) {
	conn, err := pg.Connect(ctx, pg.Config{URL: url}) // the URL may have an address that is silent
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, "RESET search_path"); err != nil {
		_ = conn.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	for _, sql := range []string{insertRow, pgfence.SQL, lastRow} {
		if _, err := conn.Prepare(ctx, sql, sql); err != nil {
			_ = conn.Close(context.WithoutCancel(ctx))
			return nil, err
		}
	}
	w := &Writer{conn: conn}
	// A rehearsal, which the fence refuses: afterwards everything the first row needs is planned.
	if err := w.Append(ctx, 0, fence.Token{Scope: "conch: a rehearsal"}, ""); !errors.Is(err, fence.ErrStale) {
		_ = conn.Close(context.WithoutCancel(ctx))
		return nil, fmt.Errorf("rehearsing a row: %w", err)
	}
	return w, nil
}

// Close closes the connection.
func (w *Writer) Close(ctx context.Context) { _ = w.conn.Close(ctx) }

// Last returns the highest number in the ledger. After the mint of a term it is exact: rows of
// earlier terms are committed by then, or never will be.
func (w *Writer) Last(ctx context.Context) (seq int64, err error) {
	err = w.conn.QueryRow(ctx, lastRow).Scan(&seq)
	return seq, err
}

// Append commits one row under the token, in one round trip: without an explicit BEGIN, the
// statements before one Sync are one transaction, which that Sync commits. The error is
// [fence.ErrStale] if the token is over, and wraps [ErrUnknown] if the row may have been
// committed.
func (w *Writer) Append(ctx context.Context, seq int64, t fence.Token, node string) error {
	var batch pgx.Batch
	batch.Queue(insertRow, seq, t.Epoch, t.Term.String(), node)
	pgfence.Queue(&batch, t)
	err := pgfence.Stale(w.conn.SendBatch(ctx, &batch).Close())
	refusal, refused := errors.AsType[*pgconn.PgError](err)
	switch {
	case err == nil, errors.Is(err, fence.ErrStale):
		return err
	case refused && refusal.Severity == "ERROR", pgconn.SafeToRetry(err):
		return err // the server rolled back, or never got it
	default:
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
}

// Read returns all rows in the order in which their transactions began to write.
func Read(ctx context.Context, url string) ([]evidence.Row, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	rows, _ := conn.Query(ctx, `SELECT seq, epoch, term::text, node FROM ledger ORDER BY xid, seq`) // they have its error
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (r evidence.Row, err error) {
		err = row.Scan(&r.Seq, &r.Epoch, &r.Term, &r.Node)
		return r, err
	})
}
