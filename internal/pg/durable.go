package pg

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A server that asks for more than we do keeps it.
const commitSQL = `CASE WHEN pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.=) 'remote_apply' THEN 'remote_apply' ELSE 'on' END`

// Durable is the first statement of a transaction whose commit is a promise, whatever
// server, database and role are set to: the commit waits for the disk and for the standby,
// and the warning comes through by which the server says that it has waited no longer.
// It counts for the one transaction, so that it leaves nothing on the backend of a pool.
const Durable = `SELECT pg_catalog.set_config('synchronous_commit', ` + commitSQL + `, true), pg_catalog.set_config('client_min_messages', '` + hearing + `', true)`

// UnconfirmedError is a commit that came with a warning. It is on this server, where
// everybody sees it, and a failover may forget it: nobody knows whether it has happened,
// as if the answer had been lost.
type UnconfirmedError struct{ Warning string }

func (e *UnconfirmedError) Error() string {
	return "committed with a warning, so perhaps on this server only: " + e.Warning
}

// warned marks a connection on which a warning has come.
const warned = "conch: warned"

// Heed has the connections of a configuration note warnings, for Confirmed.
func Heed(c *pgx.ConnConfig) {
	c.OnNotice = func(conn *pgconn.PgConn, notice *pgconn.Notice) {
		if isWarning(notice) {
			conn.CustomData()[warned] = notice
		}
	}
}

// Confirmed runs what ends with a commit, over a connection that heeds warnings, and
// returns an *UnconfirmedError if one came meanwhile.
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

func isWarning(notice *pgconn.Notice) bool {
	severity := notice.SeverityUnlocalized
	if severity == "" {
		severity = notice.Severity
	}
	return strings.EqualFold(severity, "WARNING")
}
