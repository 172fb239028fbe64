package pg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/singleflight"

	"github.com/conchhq/conch/internal/pattern"
)

// lookPatience limits the search for the locks that held something up.
const lookPatience = 2 * time.Second

// MigrationKey is the advisory lock of migrations. It is arbitrary and never changes: all versions of
// the program must use the same.
const MigrationKey int64 = 0x636f6e63685f6d67 // "conch_mg"

// TableLock is a session, or a prepared transaction, that locks tables of the schema conch or stands
// in the way of one that wants to.
type TableLock struct {
	PID     int32  // 0: a prepared transaction
	App     string // application_name; the owner of a prepared transaction
	Tables  string // that it locks or wants to lock, each with its mode
	Waits   bool   // for others, which come before it in a list
	Seconds int64  // since its transaction began; -1 if this role may not know
	Query   string // what it does, or did last; empty if this role may not know
	GID     string // the name of a prepared transaction
}

// String says who it is, and which statement ends it.
func (l TableLock) String() string {
	since := ""
	if l.Seconds >= 0 {
		since = fmt.Sprintf(" for %d s", l.Seconds)
	}
	if l.PID == 0 {
		gid := strings.ReplaceAll(oneLine(l.GID), "'", "''")
		return fmt.Sprintf("the prepared transaction '%s' of %s holds %s%s (to end it: ROLLBACK PREPARED '%s')", gid, l.App, l.Tables, since, gid)
	}
	query := "this role may not see its statement"
	if l.Query != "" {
		query = "statement: " + oneLine(literal().ReplaceAllString(l.Query, "…"))
	}
	name, does, end := cmp.Or(oneLine(l.App), "unnamed"), "holds", "pg_terminate_backend"
	if l.Waits {
		does, end = "waits for", "pg_cancel_backend"
	}
	return fmt.Sprintf("pid %d (%s) %s %s%s, %s (to end it: SELECT %s(%d))", l.PID, name, does, cmp.Or(l.Tables, "something else"), since, query, end, l.PID)
}

// literal is all of a statement from its first literal on, which may be a secret.
var literal = pattern.Of(`(?s)('|\$\w*\$).*`)

// oneLine makes the text of others harmless and short.
func oneLine(text string) string {
	if text = harmless(text); utf8.RuneCountInString(text) > 80 {
		return string([]rune(text)[:80]) + "…"
	}
	return text
}

// LockedError says what locked tables of conch while something waited for them.
type LockedError struct {
	Locks []TableLock // the root of each wait first
	Err   error       // how the wait ended
}

func (e *LockedError) Error() string {
	words := make([]string, len(e.Locks))
	for i, l := range e.Locks {
		words[i] = l.String()
	}
	return "tables of conch are locked, so this waited in vain: " + strings.Join(words, "; ")
}

// Locked returns true. Packages that do not import this one recognise the error by it.
func (e *LockedError) Locked() bool { return true }

func (e *LockedError) Unwrap() error { return e.Err }

// looks has one look at a time at each database, however many have waited there: it is a connection more.
var looks singleflight.Group

// Locked returns a *LockedError if err is of a wait that was too long and tables of conch are locked,
// and other errors unchanged. It looks over a connection of its own.
func Locked(ctx context.Context, c Config, err error) error {
	if !waited(err) {
		return err
	}
	named, _, _ := looks.Do(c.URL, func() (any, error) {
		looking, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookPatience)
		defer cancel()
		conn, failed := Connect(looking, c)
		if failed != nil {
			return nil, failed
		}
		defer func() { _ = conn.Close(looking) }()
		return TableLocks(looking, conn, false)
	})
	return lockedBy(named, err)
}

// lockedBy returns an error with the locks that a look has found; err if it found none.
func lockedBy(found any, err error) error {
	if locks, _ := found.([]TableLock); len(locks) > 0 {
		return &LockedError{Locks: locks, Err: err}
	}
	return err
}

// LockedOn is Locked over a connection that is open and in no failed transaction.
func LockedOn(ctx context.Context, conn *pgx.Conn, err error) error {
	if !waited(err) || conn.IsClosed() {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookPatience)
	defer cancel()
	locks, _ := TableLocks(ctx, conn, false)
	return lockedBy(locks, err)
}

// waited reports whether an error is of a statement that took too long, and nobody has said why.
func waited(err error) bool {
	code := Code(err)
	return !errors.As(err, new(*LockedError)) && (code == CodeLockTimeout || code == codeCanceled || errors.Is(err, context.DeadlineExceeded))
}

// TableLocks lists what keeps others from tables of the schema conch, and what stands in its way:
// those first that wait for nobody. With readers it also lists transactions that only read or write
// there, which keep a change of the schema out.
func TableLocks(ctx context.Context, conn Querier, readers bool) ([]TableLock, error) {
	rows, _ := conn.Query(ctx, tableLocksSQL, pgx.QueryExecModeSimpleProtocol, readers, MigrationKey) // they have its error
	return pgx.CollectRows(rows, pgx.RowToStructByPos[TableLock])
}

// tableLocksSQL begins with the locks that keep readers or writers out, held or waited for, and follows
// whom they wait for. A prepared transaction has no pid, and is 0 to those who wait for it. It reads no
// table of conch. Functions that accept any type are qualified, since a pooler may be in between.
const tableLocksSQL = `
WITH RECURSIVE l AS MATERIALIZED (
    SELECT coalesce(k.pid, 0) AS pid, k.virtualtransaction AS vx, k.granted,
           CASE WHEN c.oid IS NULL THEN 'the lock of migrations' ELSE pg_catalog.format('conch.%s (%s)', c.relname, k.mode) END AS what,
           k.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock') AS strong
      FROM pg_catalog.pg_locks k LEFT JOIN pg_catalog.pg_class c ON k.locktype = 'relation' AND c.oid = k.relation
       AND c.relnamespace = pg_catalog.to_regnamespace('conch') AND (c.relkind <> 'i' OR k.mode = 'AccessExclusiveLock')
     WHERE k.pid IS DISTINCT FROM pg_backend_pid()
       AND k.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
       AND (c.oid IS NOT NULL OR k.locktype = 'advisory' AND k.objsubid = 1 AND (k.classid::bigint << 32) | k.objid::bigint = $2)
), chain(pid) AS (
    SELECT pid FROM l WHERE strong OR $1
     UNION
    SELECT b.pid FROM chain CROSS JOIN LATERAL pg_catalog.unnest(pg_catalog.pg_blocking_pids(chain.pid)) AS b(pid)
), found AS (
    SELECT c.pid, '' AS vx, coalesce(a.application_name, '') AS app, a.xact_start AS began,
           CASE WHEN a.state IS NOT NULL THEN a.query ELSE '' END AS query, '' AS gid,
           pg_catalog.cardinality(pg_catalog.pg_blocking_pids(c.pid)) > 0 AS waits
      FROM chain c JOIN pg_catalog.pg_stat_activity a ON a.pid = c.pid
     UNION ALL
    SELECT 0, x.virtualtransaction, p.owner::text, p.prepared, '', p.gid, false
      FROM pg_catalog.pg_prepared_xacts p JOIN pg_catalog.pg_locks x ON x.transactionid = p.transaction AND x.pid IS NULL
     WHERE EXISTS (SELECT FROM chain c WHERE c.pid = 0) AND EXISTS (SELECT FROM l WHERE l.pid = 0 AND l.vx = x.virtualtransaction)
)
SELECT f.pid, f.app,
       coalesce((SELECT pg_catalog.string_agg(DISTINCT l.what, ', ') FROM l
                  WHERE l.pid = f.pid AND (f.pid <> 0 OR l.vx = f.vx) AND (l.strong OR l.granted <> f.waits)), ''), f.waits,
       coalesce(extract(epoch FROM clock_timestamp() - f.began)::bigint, -1), f.query, f.gid
  FROM found f
 WHERE NOT $1 OR f.waits OR f.began IS NULL OR f.began < clock_timestamp() - interval '1 second'
 ORDER BY f.waits, f.began, f.pid LIMIT 5`
