package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
)

// Attempts returns the attempts of a slot, in the order of signing, also from the archive; none if there is no slot. Any node may call it.
func (s *Store) Attempts(ctx context.Context, account chain.Account, index uint64) (all []pending.Attempt, err error) {
	const of = `SELECT n, hash, fee_max, fee_tip, gas, filler, created_at FROM `
	const at = ` WHERE chain = $1 AND account = $2 AND nonce = $3`
	rows, _ := s.db.pools.Readers.Query(ctx, of+`conch.pending_attempts`+at+` UNION ALL `+of+`conch.archived_attempts`+at+` ORDER BY n`,
		s.cfg.Chain, []byte(account), int64(index)) // they have its error
	var n, gas int64
	var hash []byte
	var most, tip pgtype.Numeric
	var one pending.Attempt
	_, err = pgx.ForEachRow(rows, []any{&n, &hash, &most, &tip, &gas, &one.Filler, &one.Signed}, func() error {
		one.Hash, one.Fee, one.Gas = chain.Hash(hash), chain.Fee{Max: integer(most), Tip: integer(tip)}, uint64(gas)
		all = append(all, one)
		return nil
	})
	return all, err
}

// mostQueued is how far an account's queue is counted.
const mostQueued = 10_000

// Backlog returns what of an account has not ended, with at most 10,000 queued that wait, and as many that are put off. It reads no finished
// rows. Any node may call it.
func (s *Store) Backlog(ctx context.Context, account chain.Account) (b pending.Backlog, err error) {
	const of = ` FROM conch.intents WHERE chain = $1 AND account = $2 AND `
	var batch pgx.Batch
	batch.Queue(inOrder)
	batch.Queue(`
		SELECT greatest(0, coalesce((SELECT nonce + 1 FROM conch.pending_transactions WHERE chain = $1 AND account = $2 ORDER BY nonce DESC LIMIT 1), 0) -
		           coalesce((SELECT first FROM (`+newestLife+`) l), 0)),
		       (SELECT count(*) FROM (SELECT`+of+`waits LIMIT $3) w) + (SELECT count(*) FROM (SELECT`+of+`put_off LIMIT $3) p),
		       t.flight, t.gaps, t.block,
		       least((SELECT created_at`+of+`waits ORDER BY seq LIMIT 1), (SELECT created_at`+of+`put_off ORDER BY seq LIMIT 1),
		             (SELECT created_at FROM conch.intents WHERE id = (SELECT intent FROM conch.pending_transactions
		                      WHERE `+open+` AND block_hash IS NULL AND intent IS NOT NULL ORDER BY nonce LIMIT 1))),
		       h.intent, coalesce(h.why, ''), h.since
		  FROM (SELECT count(*) FILTER (WHERE block_hash IS NULL) AS flight, count(*) FILTER (WHERE block_hash IS NULL AND intent IS NULL) AS gaps,
		               count(*) FILTER (WHERE block_hash IS NOT NULL) AS block
		          FROM conch.pending_transactions WHERE `+open+`) t
		  LEFT JOIN conch.pending_holds h ON h.chain = $1 AND h.account = $2 AND h.why <> ''`, s.cfg.Chain, []byte(account), mostQueued).QueryRow(func(row pgx.Row) error {
		var next int64
		var oldest, since *time.Time
		var intent pgtype.UUID
		if err := row.Scan(&next, &b.Queued, &b.InFlight, &b.Gaps, &b.InBlock, &oldest, &intent, &b.Hold.Why, &since); err != nil {
			return err
		}
		b.Next, b.Hold.Intent = uint64(next), intent.Bytes
		if oldest != nil {
			b.Oldest = *oldest
		}
		if since != nil {
			b.HoldSince = *since
		}
		return nil
	})
	return b, s.db.pools.Readers.SendBatch(ctx, &batch).Close()
}
