package pgpool

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Rehearsal runs the first statements of a new leader, in a transaction that it rolls back.
type Rehearsal func(ctx context.Context, conn *pgx.Conn) error

// warmEvery is the interval between rehearsals, shorter than the life of an idle connection.
const warmEvery = 20 * time.Second

const rehearsed = "conch: rehearsed"

// KeepWarm keeps so many rehearsed connections ready for writes until ctx ends. What fails is tried again: an unreachable database or missing tables
// are reported elsewhere.
func (p *Pools) KeepWarm(ctx context.Context, many int, play Rehearsal) {
	tick := time.NewTicker(warmEvery)
	defer tick.Stop()
	for {
		_ = p.Rehearse(ctx, many, play)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Rehearse has the connections that are used next know the statements of a new leader: the server has compiled and planned them. That takes several times as
// long as everything else between a new leader's token and its first transaction. A connection that has rehearsed does not do it again, and behind a pooler,
// where no plan is kept, none does.
func (p *Pools) Rehearse(ctx context.Context, many int, play Rehearsal) error {
	ctx, cancel := context.WithTimeout(ctx, warmEvery)
	defer cancel()
	for range many {
		conn, err := p.acquireNamed(ctx)
		if err != nil || conn == nil {
			return err
		}
		defer conn.Release() // once all have rehearsed: one that is free now would be had again
		marks := conn.Conn().PgConn().CustomData()
		if _, done := marks[rehearsed]; done {
			continue
		}
		if err := play(ctx, conn.Conn()); err != nil {
			return fmt.Errorf("rehearsing the statements of a new leader: %w", err)
		}
		marks[rehearsed] = true
	}
	return nil
}

// acquireNamed returns a connection with named statements, nil behind a pooler. The first connection of a
// pool has none and is replaced, hence the second try.
func (p *Pools) acquireNamed(ctx context.Context) (*pgxpool.Conn, error) {
	for range 2 {
		conn, err := p.Writers.Acquire(ctx)
		if err != nil {
			return nil, err
		}
		if Named(conn.Conn()) {
			return conn, nil
		}
		conn.Release()
	}
	return nil, nil //nolint:nilnil // a pooler is no fault
}

// Warm is how many connections that wait for a write have rehearsed.
func (p *Pools) Warm() (n int) {
	for _, conn := range p.Writers.AcquireAllIdle(context.Background()) { // which waits for nothing
		if _, done := conn.Conn().PgConn().CustomData()[rehearsed]; done {
			n++
		}
		conn.Release()
	}
	return n
}
