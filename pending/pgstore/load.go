package pgstore

import (
	"context"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
)

// Load implements [pending.Store] (S20), with one snapshot of the database in one round trip.
func (s *Store) Load(ctx context.Context, account chain.Account, from uint64) (snap pending.Snapshot, err error) {
	var batch pgx.Batch
	batch.Queue(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`)
	batch.Queue(`
		SELECT coalesce(newest.nonce + 1, 0), coalesce(newest.since_block, 0),
		       coalesce((SELECT (a.system_id, a.timeline) <> (h.system_id, h.timeline)
		          FROM conch.pending_accounts a, conch.pending_history() h WHERE a.chain = $1 AND a.account = $2), h2.timeline > 1),
		       q.*
		  FROM conch.pending_history() h2 CROSS JOIN (`+countQueue+`) q
		  LEFT JOIN (SELECT nonce, since_block FROM conch.pending_transactions
		         WHERE chain = $1 AND account = $2 ORDER BY nonce DESC LIMIT 1) newest ON true`, s.cfg.Chain, []byte(account), pending.PoorAfter).QueryRow(func(row pgx.Row) error {
		var next, since int64
		err := row.Scan(&next, &since, &snap.Strange, &snap.Queued, &snap.PutOff.Poor, &snap.PutOff.Unclear)
		snap.Next, snap.Since = uint64(next), uint64(since) // the newest row is never archived
		return err
	})
	batch.Queue(`
		SELECT t.nonce, t.intent, t.since_block, t.final, coalesce(i.cancel, false), i.value,
		       t.hash, t.state, t.block_hash, coalesce(t.block_number, 0), t.failed, t.waits, extract(epoch FROM clock_timestamp() - t.updated_at)::float8,
		       a.hash, a.signed, a.fee_max, a.fee_tip, a.gas, a.filler
		  FROM (SELECT * FROM conch.pending_transactions
		         WHERE chain = $1 AND account = $2 AND NOT final
		         UNION ALL
		        SELECT * FROM conch.pending_transactions
		         WHERE chain = $1 AND account = $2 AND nonce >= $3 AND final) t
		  CROSS JOIN LATERAL (SELECT * FROM conch.pending_attempts
		         WHERE chain = $1 AND account = $2 AND nonce = t.nonce OFFSET 0) a
		  LEFT JOIN LATERAL (SELECT cancel, value FROM conch.intents WHERE id = t.intent OFFSET 0) i ON true
		 ORDER BY t.nonce, a.n`, s.cfg.Chain, []byte(account), int64(from)).Query(func(rows pgx.Rows) (err error) {
		snap.Slots, err = slots(rows, account)
		return err
	})
	batch.Queue(`SELECT intent, why FROM conch.pending_holds WHERE chain = $1 AND account = $2`, s.cfg.Chain, []byte(account)).Query(func(rows pgx.Rows) error {
		var intent pgtype.UUID
		_, err := pgx.ForEachRow(rows, []any{&intent, &snap.Hold.Why}, func() error {
			snap.Hold.Intent = intent.Bytes
			return nil
		})
		return err
	})
	batch.Queue(`COMMIT`)
	err = s.pool.SendBatch(ctx, &batch).Close()
	return snap, err
}

// slots reads rows of attempts, ordered by nonce, into slots.
func slots(rows pgx.Rows, account chain.Account) (all []pending.Slot, err error) {
	var nonce, since, number, gas int64
	var intent pgtype.UUID
	var final, cancel, failed, filler bool
	var last, block, hash, signed []byte
	var state, waits string
	var age float64
	var value, most, tip pgtype.Numeric
	columns := []any{
		&nonce, &intent, &since, &final, &cancel, &value, &last, &state, &block, &number, &failed, &waits, &age,
		&hash, &signed, &most, &tip, &gas, &filler,
	}
	_, err = pgx.ForEachRow(rows, columns, func() error {
		if len(all) == 0 || all[len(all)-1].Index != uint64(nonce) {
			one := pending.Slot{Index: uint64(nonce), Since: uint64(since), Final: final, Cancel: cancel, Value: integer(value), Age: time.Duration(age * float64(time.Second))}
			one.Last = pending.Change{
				Index: one.Index, Hash: chain.Hash(last), Block: chain.Block{Number: uint64(number), Hash: chain.Hash(block)}, Failed: failed, Waits: waits,
			}
			if err := one.Last.Status.UnmarshalText([]byte(state)); err != nil {
				return err
			}
			if intent.Valid {
				id := pending.ID(intent.Bytes)
				one.Intent = &id
			}
			all = append(all, one)
		}
		slot := &all[len(all)-1]
		slot.Attempts = append(slot.Attempts, pending.Attempt{Filler: filler, Signed: chain.Signed{
			Account: account, Index: uint64(nonce), Hash: chain.Hash(hash), Bytes: append([]byte{}, signed...),
			Fee: chain.Fee{Max: integer(most), Tip: integer(tip)}, Gas: uint64(gas),
		}})
		return nil
	})
	return all, err
}

// integer returns a number without a fraction, nil for NULL.
func integer(n pgtype.Numeric) *big.Int {
	if !n.Valid || n.Int == nil {
		return nil
	}
	value := new(big.Int).Set(n.Int)
	if n.Exp > 0 {
		value.Mul(value, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n.Exp)), nil))
	}
	return value
}

// Calls implements [pending.Store].
func (s *Store) Calls(ctx context.Context, account chain.Account, indices []uint64) (map[uint64]chain.Call, error) {
	nonces := make([]int64, len(indices))
	for i, index := range indices {
		nonces[i] = int64(index)
	}
	rows, err := s.pool.Query(ctx, `
		SELECT t.nonce, i.to_account, i.value, i.data, i.gas
		  FROM conch.pending_transactions t JOIN conch.intents i ON i.id = t.intent
		 WHERE t.chain = $1 AND t.account = $2 AND t.nonce = ANY ($3)`, s.cfg.Chain, []byte(account), nonces)
	if err != nil {
		return nil, err
	}
	calls := map[uint64]chain.Call{}
	var nonce, gas int64
	var to, data []byte
	var value pgtype.Numeric
	_, err = pgx.ForEachRow(rows, []any{&nonce, &to, &value, &data, &gas}, func() error {
		calls[uint64(nonce)] = chain.Call{
			To: append([]byte(nil), to...), Value: integer(value), Data: append([]byte(nil), data...), Gas: uint64(gas),
		}
		return nil
	})
	return calls, err
}
