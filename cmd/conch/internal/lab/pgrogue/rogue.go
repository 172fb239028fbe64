// Package pgrogue misbehaves in Postgres for the nemesis (package chaos): a transaction that stops
// or goes on after its fence, a hog of the lock table or of one table, a stream of fences, and an administrator
// who ends backends.
package pgrogue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrNobody says that no session holds the lock of any of the scopes.
var ErrNobody = errors.New("no session holds the lock of a scope: nobody leads, or not by session locks")

// holding selects the holders of scopes by the backends that hold the locks.
const holding = ` FROM conch.leadership l JOIN pg_locks k
	ON k.locktype = 'advisory' AND k.objsubid = 1 AND k.granted AND (k.classid::bigint << 32) | k.objid::bigint = l.lock_key
	WHERE l.scope = ANY ($1)`

// Leaders returns the holders of the scopes, each once.
func Leaders(ctx context.Context, url string, scopes ...string) ([]string, error) {
	return names(ctx, url, `SELECT DISTINCT l.holder`+holding, scopes)
}

// Terminate ends the backends of the scopes' holders and returns these holders, each once.
func Terminate(ctx context.Context, url string, scopes ...string) ([]string, error) {
	return names(ctx, url, `SELECT DISTINCT h.holder FROM (SELECT l.holder, pg_terminate_backend(k.pid) AS ended`+holding+`) h WHERE h.ended`, scopes)
}

// names reads a list; ErrNobody if it is empty.
func names(ctx context.Context, url, query string, scopes []string) (all []string, err error) {
	err = with(ctx, url, func(conn *pgx.Conn) error {
		rows, _ := conn.Query(ctx, query, scopes) // they have its error
		all, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	if err == nil && len(all) == 0 {
		err = ErrNobody
	}
	return all, err
}

// Now returns the time of the database's clock.
func Now(ctx context.Context, url string) (now time.Time, err error) {
	err = with(ctx, url, func(conn *pgx.Conn) error { return conn.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now) })
	return now, err
}

// with connects for a moment.
func with(ctx context.Context, url string, do func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer closeConn(conn)
	return do(conn)
}

func closeConn(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}

// Hog holds locks that others need.
type Hog struct {
	conn   *pgx.Conn
	behind sync.WaitGroup // what waits behind the hog
}

// outOfMemory is the SQLSTATE of a full lock table.
const outOfMemory = "53200"

// Fill takes locks until the server refuses one, and keeps them.
func Fill(ctx context.Context, url string) (*Hog, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	_, err = conn.Exec(ctx, `SELECT pg_advisory_lock(42, n) FROM generate_series(1, 10000000) n`)
	if refusal, ok := errors.AsType[*pgconn.PgError](err); ok && refusal.Code == outOfMemory {
		return &Hog{conn: conn}, nil
	}
	closeConn(conn)
	return nil, fmt.Errorf("the lock table was not filled: %w", err)
}

// Release closes the session, which frees the locks.
func (h *Hog) Release() {
	closeConn(h.conn)
	h.behind.Wait()
}

// Straggler is a transaction that does not end after its fence.
type Straggler struct {
	URL, Scope string
	Busy       bool         // works after its fence instead of waiting
	Told       io.Reader    // its end is the order to commit
	Say        func(string) // "fenced", then "refused" or "committed"
	Work       time.Duration
}

const (
	strayRow   = `INSERT INTO ledger (seq, epoch, term, node) VALUES (0, $1, $2, 'straggler')`
	strayFence = `SELECT conch.fence($1, $2, $3)`
	current    = `SELECT epoch, term::text FROM conch.leadership WHERE scope = $1`
)

// Run inserts a row that must never be committed, fences it under the current epoch, and keeps its
// transaction open, idle or busy, until Told ends. By then there must be another leader.
func (s Straggler) Run(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.URL)
	if err != nil {
		return err
	}
	defer closeConn(conn)
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	var epoch int64
	var term string
	if err := tx.QueryRow(ctx, current, s.Scope).Scan(&epoch, &term); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, strayRow, epoch, term); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, strayFence, s.Scope, epoch, term); err != nil {
		return err
	}
	s.Say("fenced")
	if s.Busy {
		_, err = tx.Exec(ctx, `SELECT pg_sleep($1)`, s.Work.Seconds())
	}
	_, _ = io.Copy(io.Discard, s.Told)
	if err == nil {
		err = tx.Commit(ctx)
	}
	if err != nil {
		s.Say("refused")
		return nil
	}
	s.Say("committed")
	return nil
}
