package pgmint

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// BlockedError says that a command has changed nothing, since others hold what it needs
// for itself. While it waits for them everybody else waits for it, so it does not for long.
type BlockedError struct {
	What string // what they hold
	By   []Blocker
}

// Blocker is a session that holds it.
type Blocker struct {
	PID int32  // of its backend; 0: a prepared transaction
	App string // its application_name
}

func (e *BlockedError) Error() string {
	by := []string{}
	for _, b := range e.By {
		if b.PID == 0 {
			by = append(by, "a prepared transaction (see pg_prepared_xacts)")
			continue
		}
		by = append(by, fmt.Sprintf("pid %d (%s)", b.PID, b.App))
	}
	if len(by) == 0 {
		return fmt.Sprintf("%s could not be had in time, and nobody is seen to hold it now: nothing was changed, try again; if that goes on, look in pg_stat_activity for a transaction that has not ended", e.What)
	}
	return fmt.Sprintf("%s is held by %s: nothing was changed; wait until its transaction has ended, or end it (pg_terminate_backend), and try again",
		e.What, strings.Join(by, ", "))
}

// querier is a connection or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Who else has a lock of these, which follow it.
const blockersSQL = `SELECT DISTINCT coalesce(l.pid, 0), coalesce(a.application_name, '')
  FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
 WHERE l.granted AND coalesce(l.pid, 0) <> pg_backend_pid()
   AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND `

const (
	onLeadership = `l.locktype = 'relation' AND l.relation = 'conch.leadership'::regclass`
	onFence      = `l.locktype = 'advisory' AND l.objsubid = 1 AND (l.classid::bigint << 32) | l.objid::bigint = conch.fence_key($1)`
)

// blocked finds out who holds what could not be had.
func blocked(ctx context.Context, conn querier, what, locks string, args ...any) error {
	rows, err := conn.Query(ctx, blockersSQL+locks, args...)
	if err != nil {
		return err
	}
	by, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Blocker])
	if err != nil {
		return err
	}
	return &BlockedError{What: what, By: by}
}
