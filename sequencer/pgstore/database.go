package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgpool"
	"github.com/conchhq/conch/sequencer"
)

// Database is the connections of a node to its database. It is safe for concurrent use.
type Database struct{ pools *pgpool.Pools }

// mostWriters is one connection for a write, and one for its repetition while the server has not given up the first.
const mostWriters = 2

// Connection names a database: its URL (empty: the PG* variables), how its server is verified (TLSCAFile, TLSInsecure), and the AppName under
// which pg_stat_activity shows the connections. Connection of a pgmint.Config returns one too.
type Connection = pg.Config

// Open returns a Database with up to most connections for lookups and two for writes, and does not connect yet.
func Open(ctx context.Context, at Connection, most int) (*Database, error) {
	pools, err := pgpool.Open(ctx, at, mostWriters, max(most, 1))
	return &Database{pools: pools}, err
}

// Close closes the connections after the statements under way have ended.
func (d *Database) Close() { d.pools.Close() }

// Check returns an error that says why if this program cannot work with the tables.
func (d *Database) Check(ctx context.Context) error { return Tables.Check(ctx, d.pools.Writers) }

// Begin returns the store of a node that starts as the leader of the token's scope. It waits for a write of an earlier
// start that is under way, and makes all others fail: what the new store loads is then all that there is. The error wraps
// fence.ErrStale if the token is not the current one. After any other error, begin again.
func (d *Database) Begin(ctx context.Context, t fence.Token) (*Store, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s := &Store{db: d, token: t, turn: make(chan struct{}, 1)}
	var batch pgx.Batch
	batch.Queue(pg.Durable)
	pgfence.Queue(&batch, t)
	batch.Queue(`SELECT conch.sequencer_begin($1, $2, $3)`, t.Scope, t.Epoch, t.Holder).QueryRow(func(row pgx.Row) error { return row.Scan(&s.start) })
	if err := translate(d.pools.Commit(ctx, &batch)); err != nil {
		return nil, err
	}
	return s, nil
}

// patience limits a write and a start. A commit that takes longer counts as one without an answer.
const patience = time.Minute

var (
	// ErrLate means that the node has started again since, or that a later write of the same start came first: nothing
	// was written, and this store writes nothing any more.
	ErrLate = errors.New("a later start of the node has begun")
	// ErrTaken means that the contract's rows are those of a node with another scope.
	ErrTaken = errors.New("the contract belongs to another scope")
)

// SQLSTATEs of the tables of the sequencer; docs/operations.md has all of conch's.
const (
	codeLate  = "CN051"
	codeTaken = "CN052"
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
