package pgstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
)

// records returns a query for the intents that a condition selects, also in the archive, newest
// first. Its parameter number last is the limit.
func records(where string, last int) string {
	part := func(intents, seq, transactions, hold, holds string) string {
		return fmt.Sprintf(`(SELECT %s, %s, i.seq AS seq FROM %s i LEFT JOIN %s t ON (t.chain, t.account, t.nonce) = (i.chain, i.account, i.nonce) %s
			WHERE %s ORDER BY %s DESC LIMIT $%d)`, recordColumns, hold, intents, transactions, holds, where, seq, last)
	}
	return part("conch.intents", "i.seq + 0", "conch.pending_transactions", `h.intent AS held_by, h.why AS held, h.since, CASE WHEN i.waits OR i.put_off THEN i.refusals ELSE 0 END,
		i.held_cause, i.held_why, i.held_height, i.held_nonce, i.held_since, i.held_until, i.expiring`,
		`LEFT JOIN conch.pending_holds h ON (h.chain, h.account) = (i.chain, i.account) AND (i.waits OR i.put_off) AND h.why <> ''`) + ` UNION ALL ` +
		part("conch.archived_intents", "i.seq", "conch.archived_transactions", `NULL, NULL, NULL, 0, '', '', 0, 0, NULL, NULL, false`, ``) + fmt.Sprintf(` ORDER BY seq DESC LIMIT $%d`, last)
}

const recordColumns = `i.id, i.account, coalesce(i.idempotency_key, ''), i.to_account, i.value, i.data, i.gas, i.creator, i.token, i.created_at,
       i.fate, i.why, i.cancel, i.nonce, t.hash, t.state, t.block_hash, t.block_number, t.effect, t.witnesses, t.waits, coalesce(t.version, i.version), i.space, i.speed, i.max_fee, i.last_block, i.valid_until,
       t.updated_at, coalesce(` + firstOf + `, 0)`

func scanRecord(row pgx.CollectableRow) (pending.Record, error) { return scanRecordWith(row) }

// scanRecordWith reads the columns of a record and, after them, further ones.
func scanRecordWith(row pgx.CollectableRow, after ...any) (r pending.Record, err error) {
	var id pgtype.UUID
	var from, to, data, hash, block []byte
	var value pgtype.Numeric
	var gas, version, seq, first int64
	var at time.Time
	var nonce, number *int64
	var fate string
	var state, effect *string
	var witnesses []string
	var waits, held *string
	var heldBy pgtype.UUID
	var since, changed *time.Time
	var last refusal
	var how terms
	columns := []any{
		&id, &from, &r.Key, &to, &value, &data, &gas, &r.Creator, &r.Token, &at,
		&fate, &r.Why, &r.Cancel, &nonce, &hash, &state, &block, &number, &effect,
		&witnesses, &waits, &version, &r.Space,
	}
	columns = append(append(columns, how.columns()...), &changed, &first, &heldBy, &held, &since)
	columns = append(append(columns, last.columns()...), &r.Late, &seq)
	if err = row.Scan(append(columns, after...)...); err != nil {
		return r, err
	}
	r.ID, r.Account, r.Created, r.Version, r.Place = id.Bytes, chain.Account(from), at, uint64(version), uint64(seq)
	r.Call = chain.Call{To: to, Value: integer(value), Data: data, Gas: uint64(gas)}
	if nonce != nil {
		index := uint64(*nonce)
		r.First = uint64(first)
		r.Index, r.Last.Index, r.Last.Hash = &index, index, chain.Hash(hash)
	}
	err = r.Fate.UnmarshalText([]byte(fate))
	if state != nil {
		err = errors.Join(err, r.Last.Status.UnmarshalText([]byte(*state)))
		r.Last.Waits = *waits
		copy(r.Last.Witnesses[:], witnesses)
	}
	if changed != nil {
		r.Changed = *changed
	}
	if held != nil {
		r.Hold, r.HoldSince = pending.Hold{Intent: heldBy.Bytes, Why: *held}, *since
	}
	var fault error
	r.Refusal, fault = last.read()
	err = errors.Join(err, fault, how.read(&r.Intent))
	if number != nil {
		r.Last.Block = chain.Block{Number: uint64(*number), Hash: chain.Hash(block)}
	}
	if effect != nil {
		r.Last.Effect, fault = chain.ParseEffect(*effect)
		err = errors.Join(err, fault)
	}
	r.Last.Intent = r.Fate
	return r, err
}

// Get returns an intent and its stored state, or [pending.ErrNotFound]. Any node may call it.
func (s *Store) Get(ctx context.Context, id pending.ID) (pending.Record, error) {
	rows, _ := s.db.pools.Readers.Query(ctx, records(`i.id = $1 AND i.chain = $2`, 3), uuid(&id), s.cfg.Chain, 1) // they have its error
	r, err := pgx.CollectExactlyOneRow(rows, scanRecord)
	if errors.Is(err, pgx.ErrNoRows) {
		return r, pending.ErrNotFound
	}
	return r, err
}

// Unfinished returns the intents of a space of conch's own that have not ended and call an account, the oldest first. It reads no
// others.
func (s *Store) Unfinished(ctx context.Context, account chain.Account, space string, to []byte) (found []pending.Record, err error) {
	var batch pgx.Batch
	batch.Queue(inOrder)
	batch.Queue(unfinishedRecords, s.cfg.Chain, []byte(account), space, notNull(to), math.MaxInt32).Query(func(rows pgx.Rows) (err error) {
		found, err = pgx.CollectRows(rows, scanRecord)
		return err
	})
	err = s.db.pools.Readers.SendBatch(ctx, &batch).Close()
	slices.Reverse(found)
	return found, err
}

var unfinishedRecords = records(`i.id = ANY (ARRAY(
	SELECT id FROM conch.intents WHERE chain = $1 AND account = $2 AND space = $3 AND to_account = $4 AND own_open))`, 5)

// Counts returns the number of unfinished intents, by account and state, and at most 1000 queued that wait and 1000 that are put off.
func (s *Store) Counts(ctx context.Context) (counts []pending.Count, err error) {
	var batch pgx.Batch
	batch.Queue(inOrder)
	batch.Queue(`
		SELECT a.account, t.state, count(*) FROM conch.pending_accounts a LEFT JOIN conch.pending_floors f USING (chain, account)
		 CROSS JOIN LATERAL (SELECT state FROM conch.pending_transactions
		         WHERE chain = $1 AND account = a.account AND nonce >= coalesce(f.nonce, 0) AND NOT final OFFSET 0) t WHERE a.chain = $1 GROUP BY 1, 2
		UNION ALL
		SELECT account, 'queued', count(*) FROM (
		    (SELECT account FROM conch.intents WHERE chain = $1 AND waits LIMIT 1000)
		     UNION ALL
		    (SELECT account FROM conch.intents WHERE chain = $1 AND put_off LIMIT 1000)) q GROUP BY 1`, s.cfg.Chain).Query(func(rows pgx.Rows) error {
		var from []byte
		var state string
		var n int
		_, err := pgx.ForEachRow(rows, []any{&from, &state, &n}, func() error {
			counts = append(counts, pending.Count{Account: chain.Account(from), State: state, N: n})
			return nil
		})
		return err
	})
	err = s.db.pools.Readers.SendBatch(ctx, &batch).Close()
	return counts, err
}
