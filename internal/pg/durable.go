package pg

import (
	"cmp"
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// commitSQL keeps remote_apply, which is stronger than on.
const commitSQL = `CASE WHEN pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.=) 'remote_apply' THEN 'remote_apply' ELSE 'on' END`

// Durable is the first statement of a transaction whose commit must not be lost. Whatever
// the settings of the server, the commit waits for disk and standby, and the server warns if
// it stops waiting. The settings end with the transaction, so a pool's backend keeps none.
const Durable = `SELECT pg_catalog.set_config('synchronous_commit', ` + commitSQL + `, true), pg_catalog.set_config('client_min_messages', '` + hearing + `', true)`

// UnconfirmedError means that a commit returned with a warning. The transaction is visible
// on this server, but a failover may lose it: treat its outcome as unknown.
type UnconfirmedError struct{ Warning string }

func (e *UnconfirmedError) Error() string {
	return "committed with a warning, so perhaps on this server only: " + e.Warning
}

const warned = "conch: warned"

// Heed makes the connections of a configuration keep their warnings, for Confirmed.
func Heed(c *pgx.ConnConfig) {
	c.OnNotice = func(conn *pgconn.PgConn, notice *pgconn.Notice) {
		if isWarning(notice) {
			conn.CustomData()[warned] = notice
		}
	}
}

// Confirmed runs work, which ends with a commit, on a connection whose configuration went
// through Heed. It returns an *UnconfirmedError if a warning arrived meanwhile.
func Confirmed(conn *pgx.Conn, work func() error) error {
	marks := conn.PgConn().CustomData()
	delete(marks, warned)
	err := work()
	if notice, ok := marks[warned].(*pgconn.Notice); ok && err == nil {
		err = &UnconfirmedError{Warning: notice.Message}
	}
	return err
}

// QueryConfirmed runs one statement over a session, and returns an *UnconfirmedError if its
// commit came with a warning.
func QueryConfirmed[T any](ctx context.Context, s *Session, scan pgx.RowToFunc[T], sql string, args ...any) (found []T, err error) {
	warning, err := s.Watch(func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, sql, args...)
		if err == nil {
			found, err = pgx.CollectRows(rows, scan)
		}
		return err
	})
	if err == nil && warning != nil {
		err = &UnconfirmedError{Warning: warning.Message}
	}
	return found, err
}

// isWarning leaves out the warning that the queue of notifications is half full, which says nothing
// about the commit that it comes with.
func isWarning(notice *pgconn.Notice) bool {
	if notice.Routine == "asyncQueueFillWarning" {
		return false
	}
	return strings.EqualFold(cmp.Or(notice.SeverityUnlocalized, notice.Severity), "WARNING")
}
