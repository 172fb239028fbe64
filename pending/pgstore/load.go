package pgstore

import (
	"context"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/internal/rules"
)

// Load implements [pending.Store] (S20), with one snapshot of the database in one round trip.
func (s *Store) Load(ctx context.Context, account chain.Account, from uint64, most int) (snap pending.Snapshot, err error) {
	var batch pgx.Batch
	batch.Queue(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`)
	batch.Queue(inOrder)
	batch.Queue(`
		SELECT coalesce(newest.nonce + 1, 0), coalesce(newest.since_block, 0),
		       coalesce((SELECT (a.system_id, a.timeline) <> (h.system_id, h.timeline)
		          FROM conch.pending_accounts a, conch.pending_history() h WHERE a.chain = $1 AND a.account = $2), h2.timeline > 1),
		       q.*, coalesce(l.life, 0), coalesce(l.first, 0), coalesce(l.since, 0), coalesce(l.over, false), `+lastsUntil+`, `+hasBegun+`
		  FROM conch.pending_history() h2 CROSS JOIN (`+countQueue(`put_off`)+`) q
		  LEFT JOIN (`+newestLife+`) l ON true
		  LEFT JOIN (SELECT nonce, since_block FROM conch.pending_transactions
		         WHERE chain = $1 AND account = $2 ORDER BY nonce DESC LIMIT 1) newest ON true`, s.cfg.Chain, []byte(account), rules.PoorAfter).QueryRow(func(row pgx.Row) error {
		var next, since, until int64
		var of life
		err := row.Scan(append([]any{&next, &since, &snap.Strange, &snap.Waits.Queued, &snap.Waits.Poor, &snap.Waits.Unclear}, append(of.columns(), &until, &snap.Begun)...)...)
		snap.Life, snap.Until = of.read(), uint64(until)
		snap.Next, snap.Since = uint64(next), uint64(since) // the newest row is never archived
		return err
	})
	batch.Queue(loadSlots, s.cfg.Chain, []byte(account), int64(from), most).Query(func(rows pgx.Rows) (err error) {
		snap.Slots, err = slots(rows, account)
		return err
	})
	batch.Queue(loadRuns, s.cfg.Chain, []byte(account), most).Query(func(rows pgx.Rows) (err error) {
		snap.Runs, err = runs(rows)
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

// inOrder makes the planner read an account's rows by their nonces. Of an account that has most of the rows it would
// read the whole table, once for each part of a query, and sort what it found. Compiling costs more than it saves.
const inOrder = `SELECT set_config('jit', 'off', true), set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
	set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`

// withAttempts returns a query for the columns that slots reads, of the rows t that a query returns.
func withAttempts(rows string) string {
	return `
		SELECT t.nonce, t.intent, t.since_block, t.final, coalesce(i.cancel, false), i.value,
		       i.speed, i.max_fee, coalesce(i.last_block, 0), coalesce(i.late, false), coalesce(i.left, '0'),
		       t.hash, t.state, t.block_hash, coalesce(t.block_number, 0), coalesce(t.effect, 'unknown'), t.waits, extract(epoch FROM clock_timestamp() - t.updated_at)::float8,
		       a.hash, a.signed, a.fee_max, a.fee_tip, a.gas, a.filler, coalesce(a.until, 0), coalesce(a.version, '')
		  FROM (` + rows + `) t
		  CROSS JOIN LATERAL (SELECT * FROM conch.pending_attempts
		         WHERE chain = $1 AND account = $2 AND nonce = t.nonce OFFSET 0) a
		  LEFT JOIN LATERAL (SELECT cancel, value, speed, max_fee, CASE WHEN space = '' THEN last_block END AS last_block,
		              CASE WHEN space = '' THEN late END AS late, CASE WHEN space = '' THEN "left" END AS "left"
		         FROM (SELECT *, ` + untilColumns + ` FROM conch.intents WHERE id = t.intent OFFSET 0) u) i ON true
		 ORDER BY t.nonce, a.n`
}

// open selects an account's rows that are not final: none is below the account's floor. Without a floor all rows are read.
const open = `chain = $1 AND account = $2 AND NOT final
		           AND nonce >= (SELECT coalesce(pg_catalog.max(nonce), 0) FROM conch.pending_floors WHERE chain = $1 AND account = $2)`

// older returns the highest nonce below the newest rows that are not final, of which a parameter gives the number.
func older(most string) string {
	return `(SELECT nonce FROM conch.pending_transactions
		         WHERE ` + open + ` ORDER BY nonce DESC OFFSET ` + most + `::bigint LIMIT 1)`
}

// inBlock selects the rows that a run can stand for.
const inBlock = `(block_hash IS NOT NULL AND waits = '' AND state IN ('in_block', 'finality_timeout'))`

var (
	olderInBlock = `conch.pending_transactions
		         WHERE ` + open + ` AND nonce <= ` + older("$3") + ` AND ` + inBlock

	loadSlots = withAttempts(`SELECT * FROM conch.pending_transactions
		         WHERE ` + open + ` AND nonce > coalesce(` + older("$4") + `, -1)
		         UNION ALL
		        SELECT * FROM conch.pending_transactions
		         WHERE ` + open + ` AND nonce <= ` + older("$4") + ` AND NOT ` + inBlock + `
		         UNION ALL
		        SELECT * FROM conch.pending_transactions
		         WHERE chain = $1 AND account = $2 AND nonce >= $3 AND final`)

	// A run ends where the next one begins: nothing is sorted, and nothing kept but where one begins.
	loadRuns = `
		SELECT nonce, coalesce(pg_catalog.lead(before) OVER (ORDER BY nonce),
		                       (SELECT nonce FROM ` + olderInBlock + ` ORDER BY nonce DESC LIMIT 1)), block_number, block_hash, state,
		       extract(epoch FROM clock_timestamp() - updated_at)::float8
		  FROM (SELECT nonce, block_number, block_hash, state, updated_at, pg_catalog.lag(nonce) OVER w AS before,
		               (block_hash, state, nonce) IS DISTINCT FROM
		               (pg_catalog.lag(block_hash) OVER w, pg_catalog.lag(state) OVER w, pg_catalog.lag(nonce) OVER w + 1::bigint) AS begins
		          FROM ` + olderInBlock + ` WINDOW w AS (ORDER BY nonce)) r
		 WHERE begins ORDER BY nonce`

	rangeOfSlots = withAttempts(`SELECT * FROM conch.pending_transactions
		         WHERE chain = $1 AND account = $2 AND nonce BETWEEN $3 AND $4`)
)

// runs reads the rows of loadRuns.
func runs(rows pgx.Rows) (all []pending.Run, err error) {
	var first, last, number int64
	var hash []byte
	var state string
	var age float64
	_, err = pgx.ForEachRow(rows, []any{&first, &last, &number, &hash, &state, &age}, func() error {
		all = append(all, pending.Run{
			First: uint64(first), Last: uint64(last), Block: chain.Block{Number: uint64(number), Hash: chain.Hash(hash)},
			Late: state == pending.FinalityTimeout.String(), Age: seconds(age),
		})
		return nil
	})
	return all, err
}

// Slots implements [pending.Store].
func (s *Store) Slots(ctx context.Context, account chain.Account, first, last uint64) (all []pending.Slot, err error) {
	rows, err := s.pool.Query(ctx, rangeOfSlots, s.cfg.Chain, []byte(account), int64(first), int64(last))
	if err != nil {
		return nil, err
	}
	return slots(rows, account)
}

// slots reads rows of attempts, ordered by nonce, into slots.
func slots(rows pgx.Rows, account chain.Account) (all []pending.Slot, err error) {
	var nonce, since, number, gas, until int64
	var intent pgtype.UUID
	var final, cancel, filler bool
	var last, block, hash, signed []byte
	var state, effect, waits, version string
	var age float64
	var value, most, tip pgtype.Numeric
	var how terms
	var late bool
	var left time.Duration
	columns := []any{
		&nonce, &intent, &since, &final, &cancel, &value, &how.speed, &how.most, &how.last, &late, &left, &last, &state, &block, &number, &effect, &waits, &age,
		&hash, &signed, &most, &tip, &gas, &filler, &until, &version,
	}
	_, err = pgx.ForEachRow(rows, columns, func() error {
		if len(all) == 0 || all[len(all)-1].Index != uint64(nonce) {
			one := pending.Slot{Index: uint64(nonce), Since: uint64(since), Final: final, Cancel: cancel, Value: integer(value), Age: seconds(age)}
			one.Last = pending.Change{
				Index: one.Index, Hash: chain.Hash(last), Block: chain.Block{Number: uint64(number), Hash: chain.Hash(block)}, Waits: waits,
			}
			err := one.Last.Status.UnmarshalText([]byte(state))
			if err != nil {
				return err
			}
			if one.Last.Effect, err = chain.ParseEffect(effect); err != nil {
				return err
			}
			one.MaxFee, one.Deadline = integer(how.most), pending.Deadline{LastBlock: uint64(how.last), Late: late, Left: left}
			if one.Speed, err = how.how(); err != nil {
				return err
			}
			if intent.Valid {
				one.Intent = new(pending.ID(intent.Bytes))
			}
			all = append(all, one)
		}
		slot := &all[len(all)-1]
		slot.Attempts = append(slot.Attempts, chain.Signed{
			Account: account, Index: uint64(nonce), Hash: chain.Hash(hash), Bytes: append([]byte{}, signed...),
			Fee: chain.Fee{Max: integer(most), Tip: integer(tip)}, Gas: uint64(gas),
			Filler: filler, Until: uint64(until), Version: version,
		})
		return nil
	})
	return all, err
}

// seconds returns an interval of the server.
func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

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
