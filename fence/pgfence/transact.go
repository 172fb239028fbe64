package pgfence

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/fence"
)

// Tx is a transaction that Transact has begun: a pgx.Tx without the means to end it, and
// without savepoints, within which a fence would not hold.
type Tx interface { //nolint:interfacebloat // what pgx gives a transaction, less what ends it
	Querier
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
	CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error)
}

// undoing is how long a ROLLBACK may take; after that the connection is closed.
const undoing = 5 * time.Second

// Transact runs f in a transaction of the connection and commits it under the token: the
// fence is the last statement, and goes to the server together with the COMMIT. So the
// fence costs no round trip, and the mint waits for no client between the two. Of a pool,
// take a connection and give its Conn(). With an idle_in_transaction_session_timeout of
// its own, not above the lease, a connection saves the fence setting one.
//
// The error is f's own, wraps fence.ErrStale if the token is over, or is the database's.
// After any but the last nothing is committed. When the connection breaks during the last
// exchange nobody knows (pgconn.SafeToRetry tells those that never were sent).
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
	last.Queue(SQL, t.Scope, t.Epoch, [16]byte(t.Term))
	last.Queue(`COMMIT`)
	return Stale(conn.SendBatch(ctx, &last).Close())
}

// idle is the status of a connection that is in no transaction.
const idle = 'I'

// undo takes back what was done, although ctx may have ended.
func undo(ctx context.Context, conn *pgx.Conn) error {
	if conn.IsClosed() {
		return nil // and the server has
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoing)
	defer cancel()
	_, err := conn.Exec(ctx, `ROLLBACK`)
	return err
}
