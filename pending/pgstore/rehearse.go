package pgstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/pending"
)

// querier is a pool or one connection of it.
type querier interface { //nolint:interfacebloat // the methods of pgx that a store uses
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
	BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error)
}

// KeepWarm keeps one rehearsed connection ready for a new leader until ctx ends.
func (d *Database) KeepWarm(ctx context.Context) { d.pools.KeepWarm(ctx, 1, play) }

// Rehearse runs a new leader's first statements on the connection that is used next; the server has planned them then.
func (d *Database) Rehearse(ctx context.Context) error { return d.pools.Rehearse(ctx, 1, play) }

func play(ctx context.Context, conn *pgx.Conn) error {
	var id pending.ID
	_, _ = rand.Read(id[:]) // never fails since Go 1.24
	account := chain.Account("rehearsal " + string(id[:]))
	s := &Store{cfg: config{Chain: "conch: a rehearsal"}, pool: conn}
	_, load := s.Load(ctx, account, 0, 1)
	_, queue := s.Queue(ctx, account, false, 1)
	_, waiting := s.Waiting(ctx, account)
	if err := errors.Join(load, queue, waiting); err != nil {
		return err
	}
	one := chain.Signed{
		Account: account, Hash: chain.Hash(id[:]), Bytes: id[:], Fee: chain.Fee{Max: new(big.Int), Tip: new(big.Int)},
	}
	token := fence.Token{Scope: "conch: a rehearsal"}
	// Each kind of write in its own batch, as a leader sends it. The fence fails, so it comes last.
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }()
	// The transaction holds table locks. The timeout frees them if this process freezes here.
	if _, err := tx.Exec(ctx, `SET LOCAL idle_in_transaction_session_timeout = '2s'`); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `INSERT INTO conch.intents (id, chain, account, to_account, value, data, gas, creator) VALUES ($1, $2, $3, '', 0, '', 0, '')`,
		uuid(&id), s.cfg.Chain, []byte(account)); err != nil {
		return err
	}
	for _, b := range []pending.Batch{
		{Account: account, Number: 1, New: []pending.Slot{{Intent: &id, Attempts: []chain.Signed{one}}}},
		{Account: account, Number: 2, Hold: &pending.Hold{Why: "a rehearsal"}, Changes: []pending.Change{{Hash: one.Hash, Status: pending.InBlock, Block: chain.Block{Number: 1, Hash: one.Hash}}}},
	} {
		var batch pgx.Batch
		s.queue(&batch, token, b)
		if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
			return err
		}
	}
	var fenced pgx.Batch
	pgfence.Queue(&fenced, token)
	if err := translate(tx.SendBatch(ctx, &fenced).Close()); !errors.Is(err, fence.ErrStale) {
		return fmt.Errorf("the fence did not refuse the rehearsal: %w", err)
	}
	return nil
}
