package pgraw

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Admin is a connection for questions about a server.
type Admin struct {
	conn    *pgx.Conn
	counter string // the question that counts; empty: not looked for yet
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
func (d *Admin) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = d.conn.Close(ctx)
}

// Waiters counts the sessions that wait for the process that leads the scope.
func (d *Admin) Waiters(ctx context.Context, scope string) (n int, err error) {
	err = d.conn.QueryRow(ctx, `
		SELECT count(*) FROM conch.leadership l JOIN pg_locks k
		    ON k.locktype = 'advisory' AND k.objsubid = 1 AND NOT k.granted
		   AND (k.classid::bigint << 32) | k.objid::bigint = l.process_key
		   AND k.database = (SELECT oid FROM pg_database WHERE datname = current_database())
		 WHERE l.scope = $1`, scope).Scan(&n)
	return n, err
}

// RawWaiters counts the sessions that wait for [Key].
func (d *Admin) RawWaiters(ctx context.Context) (n int, err error) {
	err = d.conn.QueryRow(ctx, `
		SELECT count(*) FROM pg_locks
		 WHERE locktype = 'advisory' AND objsubid = 1 AND NOT granted
		   AND (classid::bigint << 32) | objid::bigint = $1
		   AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`, Key).Scan(&n)
	return n, err
}

// Led counts the scopes that somebody leads, and adds their epochs up: the sum grows with
// every election, also where a scope was lost and is led again.
func (d *Admin) Led(ctx context.Context) (n int, epochs int64, err error) {
	err = d.conn.QueryRow(ctx, `SELECT count(*), coalesce(sum(epoch), 0)::bigint FROM conch.leadership WHERE parted_at IS NULL AND epoch > 0`).
		Scan(&n, &epochs)
	return n, epochs, err
}

// Version of the server, as people know it.
func (d *Admin) Version() string { return d.conn.PgConn().ParameterStatus("server_version") }

// Setting reads a setting of the server.
func (d *Admin) Setting(ctx context.Context, name string) (value string, err error) {
	err = d.conn.QueryRow(ctx, `SELECT current_setting($1)`, name).Scan(&value)
	return value, err
}

const (
	byStatements   = "pg_stat_statements"
	byTransactions = "pg_stat_database"
)

// Count is how many statements this database was asked for so far, and by what
// that is known. Each call is one statement itself. It is pg_stat_statements, BEGIN and COMMIT included, or, where that is
// not loaded, transactions by pg_stat_database.
func (d *Admin) Count(ctx context.Context) (n int64, by string, err error) {
	if d.counter == "" {
		d.counter, d.by = `SELECT sum(calls)::bigint FROM pg_stat_statements s JOIN pg_database b ON b.oid = s.dbid
		                    WHERE b.datname = current_database()`, byStatements
		if _, err := d.conn.Exec(ctx, `CREATE EXTENSION IF NOT EXISTS pg_stat_statements`); err != nil || d.ask(ctx, &n) != nil {
			d.counter, d.by = `SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()`, byTransactions
		}
	}
	err = d.ask(ctx, &n)
	return n, d.by, err
}

func (d *Admin) ask(ctx context.Context, n *int64) error {
	return d.conn.QueryRow(ctx, d.counter).Scan(n)
}

// TrackStatements has pg_stat_statements count in this database's new sessions, if
// it is loaded and we may say so.
func (d *Admin) TrackStatements(ctx context.Context) {
	_, _ = d.conn.Exec(ctx, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET pg_stat_statements.track = top', current_database()); END $$`)
}

// PerSecond counts for so long.
func (d *Admin) PerSecond(ctx context.Context, long time.Duration) (perSecond float64, by string, err error) {
	before, by, err := d.Count(ctx)
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
	after, _, err := d.Count(ctx)
	return float64(after-before) / time.Since(began).Seconds(), by, err
}

// CreateDatabase makes a database on the server behind the URL and returns its
// own URL, and what removes it.
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
