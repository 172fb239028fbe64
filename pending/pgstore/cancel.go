package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/pending"
)

// Cancel requests the cancellation of an intent, or returns [pending.ErrNotFound]. Without a slot
// the intent is cancelled at once; with one the leader tries to fill the slot, which may be too
// late. An intent that has ended stays so, even if the chain takes its end back.
func (s *Store) Cancel(ctx context.Context, id pending.ID) error {
	for try := range mostTries {
		var found int64
		var write pgx.Batch
		write.Queue(pg.Durable)
		write.Queue(cancelSQL, uuid(&id), s.cfg.Chain).Exec(func(tag pgconn.CommandTag) error { found = tag.RowsAffected(); return nil })
		if err := s.db.pools.Commit(ctx, &write); err != nil || found > 0 {
			return err
		}
		r, err := s.Get(ctx, id) // archived, or unknown; or it ended, or got a slot, just then
		if err != nil || r.Fate != pending.Open && try > 0 {
			return err
		}
	}
	return pending.ErrBusy
}

// mostTries is more often than an intent can get a slot and lose it again while it is being cancelled.
const mostTries = 10

// A slot is locked before its intent, as in changesSQL. Something is always written, so that its commit waits for an earlier one that was
// not confirmed; nothing if the intent has changed since the statement began, which may not have raised the version that counts then.
const cancelSQL = `
	WITH slot AS (
		UPDATE conch.pending_transactions t SET version = t.version + 1
		  FROM (SELECT * FROM conch.intents WHERE id = $1 AND chain = $2 AND fate = 'open' AND NOT cancel) i
		 WHERE t.chain = i.chain AND t.account = i.account AND t.nonce = i.nonce AND t.intent = i.id
		RETURNING t.nonce),
	ended AS (
		UPDATE conch.intents SET cancel = true, fate = 'cancelled', version = version + 1
		 WHERE id = $1 AND chain = $2 AND nonce IS NULL AND fate = 'open'
		RETURNING *),
	asked AS (
		UPDATE conch.intents SET cancel = cancel OR fate = 'open'
		 WHERE id = $1 AND chain = $2 AND (fate <> 'open' OR nonce IS NOT NULL AND (cancel OR nonce = (SELECT nonce FROM slot)))
		RETURNING id),
	told AS (
		INSERT INTO conch.pending_events (chain, account, intent, version, kind, fate)
		SELECT chain, account, id, version, 'final', fate FROM ended)
	SELECT id FROM ended UNION ALL SELECT id FROM asked`
