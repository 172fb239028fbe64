package pgfence

import (
	"context"
	"database/sql"
	"errors"

	"github.com/conchhq/conch/fence"
)

// TransactSQL runs f in a transaction of database/sql, with any driver, and commits it under
// the token: the fence is the last statement before the COMMIT. What is built on *sql.Tx,
// such as sqlx or GORM, takes the transaction that f is given. Opts may be nil.
//
// The error is f's own, wraps fence.ErrStale if the token is over, or is the driver's. After
// f's, or the fence's, nothing is committed. If the COMMIT had no answer nobody knows.
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
