// Package pgpool is the connections of a wing's store: some that write, others that look something up, and all of them
// as fast as what is in between allows.
//
// A pooler may change the backend of a connection after each transaction, and another backend does not know the names of
// prepared statements. So the first connection uses none. Once one has shown that no pooler is in between, each new one
// does, and those without are replaced.
package pgpool

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/conchhq/conch/internal/pg"
)

// Pools are two pools over one database. They are safe for concurrent use.
type Pools struct {
	Writers *pgxpool.Pool // for what a node does itself
	Readers *pgxpool.Pool // for those who look something up, so that a write never waits for them
	direct  atomic.Bool   // the last new connection showed no pooler in between
}

// Open returns pools of up to so many connections each, and does not connect yet.
func Open(ctx context.Context, cfg pg.Config, writers, readers int) (*Pools, error) {
	cfg.Unnamed = true // there may be a pooler, until a connection shows none
	parsed, err := cfg.Parse()
	if err != nil {
		return nil, err
	}
	write, err := pgxpool.ParseConfig("")
	if err != nil {
		return nil, err
	}
	pg.Heed(parsed)
	p := &Pools{}
	write.ConnConfig, write.MinConns, write.MaxConnIdleTime = parsed, 0, time.Minute
	write.BeforeConnect, write.AfterConnect, write.PrepareConn = p.useNames, p.detectPooler(pg.Limits{}), p.hasMode
	read := write.Copy()
	read.AfterConnect = p.detectPooler(readLimits)
	write.MaxConns, read.MaxConns = int32(writers), int32(readers)
	if p.Writers, err = pgxpool.NewWithConfig(ctx, write); err != nil {
		return nil, err
	}
	if p.Readers, err = pgxpool.NewWithConfig(ctx, read); err != nil {
		p.Writers.Close()
		return nil, err
	}
	return p, nil
}

// Close closes the connections after the statements under way have ended.
func (p *Pools) Close() {
	p.Writers.Close()
	p.Readers.Close()
}

// useNames makes a new connection prepare its statements under names if there is no pooler that could change its backend.
// To plan the statements of a write takes as long as to carry them out, or longer.
func (p *Pools) useNames(ctx context.Context, cfg *pgx.ConnConfig) error {
	if p.direct.Load() {
		cfg.DefaultQueryExecMode = pgx.QueryExecModeCacheStatement
	}
	return pg.Settle(ctx, cfg)
}

// readLimits end a look at a table that somebody has locked: a caller waits for its answer.
var readLimits = pg.Limits{Lock: 3 * time.Second}

// detectPooler finds out whether there is a pooler, and makes the settings of conch if there is none.
func (p *Pools) detectPooler(limits pg.Limits) func(context.Context, *pgx.Conn) error {
	return func(ctx context.Context, conn *pgx.Conn) error {
		direct, err := pg.Narrow(ctx, conn, limits)
		if err == nil {
			p.direct.Store(direct)
		}
		return err
	}
}

// hasMode reports whether a connection names its statements exactly if there is no pooler.
func (p *Pools) hasMode(_ context.Context, conn *pgx.Conn) (bool, error) {
	return Named(conn) == p.direct.Load(), nil
}

// Named reports whether a connection prepares its statements under names, so that the server keeps their plans.
func Named(conn *pgx.Conn) bool {
	return conn.Config().DefaultQueryExecMode == pgx.QueryExecModeCacheStatement
}

// Commit sends a batch that begins with pg.Durable, in one round trip and one transaction. After a
// warning of the server the result is unknown, as without an answer.
func (p *Pools) Commit(ctx context.Context, batch *pgx.Batch) error {
	return p.Writers.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		return pg.Confirmed(conn.Conn(), func() error { return conn.SendBatch(ctx, batch).Close() })
	})
}
