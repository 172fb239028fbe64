package pgraw

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Admin is a connection for questions about a server and for preparing its tables.
type Admin struct {
	conn    *pgx.Conn
	counter string // query that counts statements; empty: not chosen yet
	by      string
}

// OpenAdmin connects.
func OpenAdmin(ctx context.Context, url string) (*Admin, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	return &Admin{conn: conn}, nil
}

// Close ends the connection.
func (a *Admin) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = a.conn.Close(ctx)
}

// Waiters counts the sessions that wait for the process that leads the scope.
func (a *Admin) Waiters(ctx context.Context, scope string) (n int, err error) {
	err = a.conn.QueryRow(ctx, `
		SELECT count(*) FROM conch.leadership l JOIN pg_locks k
		    ON k.locktype = 'advisory' AND k.objsubid = 1 AND NOT k.granted
		   AND (k.classid::bigint << 32) | k.objid::bigint = l.process_key
		   AND k.database = (SELECT oid FROM pg_database WHERE datname = current_database())
		 WHERE l.scope = $1`, scope).Scan(&n)
	return n, err
}

// RawWaiters counts the sessions that wait for [Key].
func (a *Admin) RawWaiters(ctx context.Context) (n int, err error) {
	err = a.conn.QueryRow(ctx, `
		SELECT count(*) FROM pg_locks
		 WHERE locktype = 'advisory' AND objsubid = 1 AND NOT granted
		   AND (classid::bigint << 32) | objid::bigint = $1
		   AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`, Key).Scan(&n)
	return n, err
}

// Led returns the number of scopes with a leader, and the sum of their epochs, which grows
// with every election, even if a lost scope is led again.
func (a *Admin) Led(ctx context.Context) (n int, epochs int64, err error) {
	err = a.conn.QueryRow(ctx, `SELECT count(*), coalesce(sum(epoch), 0)::bigint FROM conch.leadership WHERE parted_at IS NULL AND epoch > 0`).
		Scan(&n, &epochs)
	return n, epochs, err
}

// Version returns the server's version, such as 15.18.
func (a *Admin) Version() string { return a.conn.PgConn().ParameterStatus("server_version") }

// Setting returns a setting of the server.
func (a *Admin) Setting(ctx context.Context, name string) (value string, err error) {
	err = a.conn.QueryRow(ctx, `SELECT current_setting($1)`, name).Scan(&value)
	return value, err
}

const (
	byStatements   = "pg_stat_statements"
	byTransactions = "pg_stat_database"
)

// Count returns the number of statements in this database so far, itself included, and its
// source: pg_stat_statements, which counts BEGIN and COMMIT too, or, if that is not loaded,
// transactions by pg_stat_database.
func (a *Admin) Count(ctx context.Context) (n int64, by string, err error) {
	if a.counter == "" {
		a.counter, a.by = `SELECT sum(calls)::bigint FROM pg_stat_statements s JOIN pg_database b ON b.oid = s.dbid
		                    WHERE b.datname = current_database()`, byStatements
		if _, err := a.conn.Exec(ctx, `CREATE EXTENSION IF NOT EXISTS pg_stat_statements`); err != nil || a.ask(ctx, &n) != nil {
			a.counter, a.by = `SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()`, byTransactions
		}
	}
	err = a.ask(ctx, &n)
	return n, a.by, err
}

func (a *Admin) ask(ctx context.Context, n *int64) error {
	return a.conn.QueryRow(ctx, a.counter).Scan(n)
}

// TrackStatements turns pg_stat_statements on for new sessions of this database, if it is
// loaded and the role may do so.
func (a *Admin) TrackStatements(ctx context.Context) {
	_, _ = a.conn.Exec(ctx, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET pg_stat_statements.track = top', current_database()); END $$`)
}

// PerSecond counts statements per second over a period.
func (a *Admin) PerSecond(ctx context.Context, long time.Duration) (perSecond float64, by string, err error) {
	before, by, err := a.Count(ctx)
	if err != nil {
		return 0, by, err
	}
	began, timer := time.Now(), time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return 0, by, context.Cause(ctx)
	case <-timer.C:
	}
	after, _, err := a.Count(ctx)
	return float64(after-before) / time.Since(began).Seconds(), by, err
}

// CreateDatabase creates a database on the server of the URL and returns its URL and a
// function that drops it.
func CreateDatabase(ctx context.Context, url string) (created string, drop func() error, err error) {
	name := "conch_bench_" + strings.ToLower(rand.Text()[:10])
	if err := admin(ctx, url, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()); err != nil {
		return "", nil, fmt.Errorf("creating the database %s for the measurements: %w", name, err)
	}
	return WithDatabase(url, name), func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := admin(ctx, url, "DROP DATABASE "+pgx.Identifier{name}.Sanitize()+" WITH (FORCE)"); err != nil {
			return fmt.Errorf("the database %s, made for the measurements, could not be dropped: %w", name, err)
		}
		return nil
	}, nil
}

func admin(ctx context.Context, url, sql string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	_, err = conn.Exec(ctx, sql)
	return err
}
