package pgstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/migrate"
	"github.com/conchhq/conch/sequencer"
)

// Database is the connections of a node to its database. It is safe for concurrent use.
type Database struct {
	pool    *pgxpool.Pool // for writes, and for reading at a start
	readers *pgxpool.Pool // for users and members that look something up, so that a write never waits for them
	direct  atomic.Bool   // the last new connection showed no pooler in between
}

// mostWriters is one connection for a write, and one for its repetition while the server has not given up the first.
const mostWriters = 2

// Open returns a Database with up to most connections for lookups and two for writes, and does not connect yet.
func Open(ctx context.Context, cfg pg.Config, most int) (*Database, error) {
	d := &Database{}
	return d, d.open(ctx, cfg, most, d.detectPooler)
}

func (d *Database) open(ctx context.Context, cfg pg.Config, most int, afterConnect func(context.Context, *pgx.Conn) error) error {
	cfg.Unnamed = true // there may be a pooler, until a connection shows none
	parsed, err := cfg.Parse()
	if err != nil {
		return err
	}
	settings, err := pgxpool.ParseConfig("")
	if err != nil {
		return err
	}
	pg.Heed(parsed)
	settings.ConnConfig, settings.MaxConns, settings.MinConns = parsed, mostWriters, 0
	settings.MaxConnIdleTime = time.Minute
	settings.BeforeConnect, settings.AfterConnect, settings.PrepareConn = d.useNames, afterConnect, d.hasMode
	lookups := settings.Copy()
	lookups.MaxConns = int32(max(most, 1))
	if d.pool, err = pgxpool.NewWithConfig(ctx, settings); err != nil {
		return err
	}
	if d.readers, err = pgxpool.NewWithConfig(ctx, lookups); err != nil {
		d.pool.Close()
	}
	return err
}

// useNames makes a new connection prepare its statements under names if there is no pooler that
// could change its backend. To plan the statements of a write takes as long as to carry them out.
func (d *Database) useNames(_ context.Context, cfg *pgx.ConnConfig) error {
	if d.direct.Load() {
		cfg.DefaultQueryExecMode = pgx.QueryExecModeCacheStatement
	}
	return nil
}

// detectPooler finds out whether there is a pooler, and sets the search_path if there is none.
func (d *Database) detectPooler(ctx context.Context, conn *pgx.Conn) error {
	direct, err := pg.Narrow(ctx, conn)
	if err == nil {
		d.direct.Store(direct)
	}
	return err
}

// hasMode reports whether a connection names its statements exactly if there is no pooler.
func (d *Database) hasMode(_ context.Context, conn *pgx.Conn) (bool, error) {
	named := conn.Config().DefaultQueryExecMode == pgx.QueryExecModeCacheStatement
	return named == d.direct.Load(), nil
}

// Close closes the connections after the statements under way have ended.
func (d *Database) Close() {
	d.pool.Close()
	d.readers.Close()
}

// Check returns a [*SchemaError] if this program cannot work with the tables.
func (d *Database) Check(ctx context.Context) error {
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	version, err := migrate.Version(ctx, conn.Conn(), Migrations())
	if err != nil {
		return err
	}
	return checkVersion(version)
}

// Begin returns the store of a node that starts as the leader of the token's scope. It waits for a write of an earlier
// start that is under way, and makes all others fail: what the new store loads is then all that there is. The error wraps
// fence.ErrStale if the token is not the current one. After any other error, begin again.
func (d *Database) Begin(ctx context.Context, t fence.Token) (*Store, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s := &Store{db: d, token: t, turn: make(chan struct{}, 1)}
	var batch pgx.Batch
	batch.Queue(pg.Durable)
	queueFence(&batch, t)
	batch.Queue(`SELECT conch.sequencer_begin($1, $2, $3)`, t.Scope, t.Epoch, t.Holder).QueryRow(func(row pgx.Row) error { return row.Scan(&s.start) })
	if err := d.commit(ctx, &batch); err != nil {
		return nil, err
	}
	return s, nil
}

// patience limits a write and a start. A commit that takes longer counts as one without an answer.
const patience = time.Minute

// queueFence begins a batch. A stale token undoes all statements after it. It comes first, although the mint then waits
// for the whole write: else a node that freezes while it sends one could keep its successor from writing for ever, with
// the lock of its turn. As it is, the successor's mint ends it after a lease.
func queueFence(batch *pgx.Batch, t fence.Token) {
	batch.Queue(pgfence.SQL, t.Scope, t.Epoch, pgtype.UUID{Bytes: t.Term, Valid: true})
}

// commit sends a batch that begins with pg.Durable, in one round trip and one transaction. After a
// warning of the server the result is unknown, as without an answer.
func (d *Database) commit(ctx context.Context, batch *pgx.Batch) error {
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return translate(pg.Confirmed(conn.Conn(), func() error { return conn.SendBatch(ctx, batch).Close() }))
}

var (
	// ErrLate means that the node has started again since, or that a later write of the same start came first: nothing
	// was written, and this store writes nothing any more.
	ErrLate = errors.New("a later start of the node has begun")
	// ErrTaken means that the contract's rows are those of a node with another scope.
	ErrTaken = errors.New("the contract belongs to another scope")
)

// SQLSTATEs of the tables of the sequencer; docs/operations.md has all of conch's.
const (
	codeLate  = "CN021"
	codeTaken = "CN022"
)

// translate turns refusals of the database into errors of this package and of fence.
func translate(err error) error {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) {
		return err
	}
	switch refused.Code {
	case pgfence.CodeStale:
		return fmt.Errorf("%w: %w", sequencer.ErrOver, pgfence.Stale(err))
	case codeLate:
		return fmt.Errorf("%w: %w: %s", sequencer.ErrOver, ErrLate, refused.Message)
	case codeTaken:
		return fmt.Errorf("%w: %w: %s", sequencer.ErrOver, ErrTaken, refused.Message)
	}
	return err
}
