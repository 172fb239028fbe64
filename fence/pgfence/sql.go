package pgfence

import (
	"context"
	"database/sql"
	"errors"

	"github.com/conchhq/conch/fence"
)

// TransactSQL runs f in a transaction of database/sql, with any driver, and sends the fence
// as the last statement before the COMMIT, so that the transaction commits only while the
// token is the current one. opts may be nil.
//
// TransactSQL returns the error of f, an error that wraps fence.ErrStale if the token is not
// the current one, or an error of the driver. Nothing is committed if f or the fence fails. If
// the COMMIT gets no answer, the outcome is unknown.
func TransactSQL(ctx context.Context, db *sql.DB, opts *sql.TxOptions, t fence.Token, f func(tx *sql.Tx) error) (err error) {
	tx, err := db.BeginTx(ctx, opts)
	if err != nil {
		return err
	}
	defer func() {
		// There is something to roll back if f failed, or panicked, or the fence refused.
		if undone := tx.Rollback(); undone != nil && !errors.Is(undone, sql.ErrTxDone) {
			err = errors.Join(err, undone)
		}
	}()
	if err := f(tx); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, SQL, t.Scope, t.Epoch, t.Term); err != nil {
		return Stale(err)
	}
	return Stale(tx.Commit())
}
