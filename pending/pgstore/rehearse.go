package pgstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
)

// lines are a pool, or one connection of it.
type lines interface { //nolint:interfacebloat // what a store asks of its connections
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
	BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error)
}

// warmEvery is how often it is seen to that a rehearsed connection is at hand: sooner
// than one that rests is closed.
const warmEvery = 20 * time.Second

// KeepWarm keeps one connection ready for a new leader until ctx ends.
func (d *Database) KeepWarm(ctx context.Context) {
	tick := time.NewTicker(warmEvery)
	defer tick.Stop()
	for {
		_ = d.Rehearse(ctx) // the database may be away, or its tables not made: others say so
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// rehearsed marks a connection.
const rehearsed = "conch: rehearsed"

// Rehearse has the connection that is used next run what a leader's first second runs,
// for an account that nobody has, in a transaction that is taken back. The server has
// compiled and planned it then, which takes several times as long as all else between a
// new leader's token and its first transaction.
func (d *Database) Rehearse(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, warmEvery)
	defer cancel()
	conn, err := d.own(ctx)
	if err != nil || conn == nil {
		return err // behind a pooler nothing is kept for the next time
	}
	defer conn.Release()
	marks := conn.Conn().PgConn().CustomData()
	if _, done := marks[rehearsed]; done {
		return nil
	}
	if err := play(ctx, conn); err != nil {
		return fmt.Errorf("rehearsing a leader's first second: %w", err)
	}
	marks[rehearsed] = true
	return nil
}

// own is a connection whose statements have names, nil if there can be none. The very
// first has none, and is not used again.
func (d *Database) own(ctx context.Context) (*pgxpool.Conn, error) {
	for range 2 {
		conn, err := d.pool.Acquire(ctx)
		if err != nil {
			return nil, err
		}
		if conn.Conn().Config().DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
			return conn, nil
		}
		conn.Release()
	}
	return nil, nil
}

func play(ctx context.Context, conn lines) error {
	var id pending.ID
	_, _ = rand.Read(id[:]) // never fails since Go 1.24
	account := chain.Account("rehearsal " + string(id[:]))
	s := &Store{cfg: config{Chain: "conch: a rehearsal"}, pool: conn}
	_, load := s.Load(ctx, account, 0)
	_, _, queue := s.Queue(ctx, account, 1)
	_, _, waiting := s.Waiting(ctx, account)
	if err := errors.Join(load, queue, waiting); err != nil {
		return err
	}
	one := pending.Attempt{Signed: chain.Signed{
		Account: account, Hash: chain.Hash(id[:]), Bytes: id[:], Fee: chain.Fee{Max: new(big.Int), Tip: new(big.Int)},
	}}
	token := fence.Token{Scope: "conch: a rehearsal"}
	// Each kind of write in a batch of its own, as a leader has them, and taken back at
	// once. The fence comes last: a statement that fails is not kept.
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }()
	// It holds locks of tables: a node that is frozen here is not to hold up everybody.
	if _, err := tx.Exec(ctx, `SET LOCAL idle_in_transaction_session_timeout = '2s'`); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `INSERT INTO conch.intents (id, chain, account, to_account, value, data, gas, creator) VALUES ($1, $2, $3, '', 0, '', 0, '')`,
		uuid(&id), s.cfg.Chain, []byte(account)); err != nil {
		return err
	}
	for _, b := range []pending.Batch{
		{Account: account, Number: 1, New: []pending.Slot{{Intent: &id, Attempts: []pending.Attempt{one}}}},
		{Account: account, Number: 2, Changes: []pending.Change{{Hash: one.Hash, Status: pending.InBlock, Block: chain.Block{Number: 1, Hash: one.Hash}}}},
	} {
		var batch pgx.Batch
		s.queue(&batch, token, b)
		if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
			return err
		}
	}
	var fenced pgx.Batch
	queueFence(&fenced, token)
	if err := s.cfg.stale(tx.SendBatch(ctx, &fenced).Close()); !errors.Is(err, fence.ErrStale) {
		return fmt.Errorf("the fence did not refuse it: %w", err)
	}
	return nil
}
