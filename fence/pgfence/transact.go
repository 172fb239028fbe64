package pgfence

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/fence"
)

// Tx is a transaction that [Transact] has begun. It has the methods of pgx.Tx except those
// that end the transaction or make savepoints, inside which a fence does not hold.
type Tx interface { //nolint:interfacebloat // the methods of pgx.Tx, except those that end it
	Querier
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
	CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error)
}

// undoing limits the time of a ROLLBACK; after that the connection is closed.
const undoing = 5 * time.Second

// Transact runs f in a transaction on the connection, which commits only while the token is
// the current one. It sends the fence together with the COMMIT: so the fence costs no round
// trip, and the mint never waits for a client between the two. With a pool, acquire a
// connection and pass its Conn(). A connection whose idle_in_transaction_session_timeout is
// set, and not above the lease, saves the fence from setting it.
//
// Transact returns the error of f, an error that wraps fence.ErrStale if the token is not the
// current one, or an error of the database. Nothing is committed if f or the fence fails. If
// the connection breaks during the COMMIT, the outcome is unknown, unless
// pgconn.SafeToRetry reports that nothing was sent.
func Transact(ctx context.Context, conn *pgx.Conn, t fence.Token, f func(tx Tx) error) (err error) {
	if status := conn.PgConn().TxStatus(); status != idle {
		return fmt.Errorf("pgfence: a transaction is under way on this connection (status %q): fence that one with pgfence.Fence", status)
	}
	if _, err := conn.Exec(ctx, `BEGIN`); err != nil {
		return err
	}
	defer func() {
		if conn.PgConn().TxStatus() != idle { // f failed, or panicked, or the fence refused
			err = errors.Join(err, undo(ctx, conn))
		}
	}()
	if err := f(conn); err != nil {
		return err
	}
	var last pgx.Batch
	Queue(&last, t)
	last.Queue(`COMMIT`)
	return Stale(conn.SendBatch(ctx, &last).Close())
}

// idle is the status of a connection outside a transaction.
const idle = 'I'

// undo rolls the transaction back, even if ctx has ended.
func undo(ctx context.Context, conn *pgx.Conn) error {
	if conn.IsClosed() {
		return nil // the server rolls back
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoing)
	defer cancel()
	_, err := conn.Exec(ctx, `ROLLBACK`)
	return err
}
