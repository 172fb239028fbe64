package pg

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Querier is a connection or a transaction.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// LockHolders lists the other sessions that hold a lock of this database. The condition
// where picks the lock by the columns of pg_locks, called l; args are its parameters. Each
// row has a backend's process id, 0 for a prepared transaction, and its application_name.
func LockHolders[T any](ctx context.Context, conn Querier, scan pgx.RowToFunc[T], where string, args ...any) ([]T, error) {
	rows, err := conn.Query(ctx, lockHoldersSQL+where, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scan)
}

const lockHoldersSQL = `SELECT DISTINCT coalesce(l.pid, 0), coalesce(a.application_name, '')
  FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
 WHERE l.granted AND coalesce(l.pid, 0) <> pg_backend_pid()
   AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND `
