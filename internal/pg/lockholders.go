package pg

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Querier is a connection or a transaction.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// LockHolders describes the other sessions that hold a lock of this database. The condition
// where picks the lock by the columns of pg_locks, called l; args are its parameters.
func LockHolders(ctx context.Context, conn Querier, where string, args ...any) ([]string, error) {
	rows, _ := conn.Query(ctx, lockHoldersSQL+where, args...) // they have its error
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (holder string, err error) {
		var pid int32 // 0: a prepared transaction
		var app string
		if err := row.Scan(&pid, &app); err != nil || pid == 0 {
			return "a prepared transaction (see pg_prepared_xacts)", err
		}
		return fmt.Sprintf("pid %d (%s)", pid, app), nil
	})
}

const lockHoldersSQL = `SELECT DISTINCT coalesce(l.pid, 0), coalesce(a.application_name, '')
  FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
 WHERE l.granted AND coalesce(l.pid, 0) <> pg_backend_pid()
   AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND `
