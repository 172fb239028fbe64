package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg"
)

// TellStuck tells of intents of an account that they wait, once for each slot and once without one: those that were accepted so long ago,
// by the database's clock, and have no slot, and those that got one so long ago and are in no block. It tells of most at once of each
// kind, and leaves for later what a leader writes just now.
func (d *Database) TellStuck(ctx context.Context, a Account, age time.Duration, most int) error {
	var batch pgx.Batch
	batch.Queue(pg.Durable + byIndex)
	batch.Queue(slotsStuck, a.Chain, []byte(a.Account), age, most)
	batch.Queue(intentsStuck, a.Chain, []byte(a.Account), age, most)
	return d.pools.Commit(ctx, &batch)
}

const (
	slotsStuck = `
		WITH old AS (
			SELECT chain, account, nonce FROM conch.pending_transactions
			 WHERE ` + open + ` AND block_hash IS NULL AND NOT stuck AND intent IS NOT NULL AND created_at < clock_timestamp() - $3::interval
			 ORDER BY nonce LIMIT $4 FOR UPDATE SKIP LOCKED),
		moved AS (
			UPDATE conch.pending_transactions t SET stuck = true, version = t.version + 1 FROM old o
			 WHERE t.chain = o.chain AND t.account = o.account AND t.nonce = o.nonce
			RETURNING t.*)
		INSERT INTO conch.pending_events (chain, account, intent, version, kind, nonce, hash, why)
		SELECT chain, account, intent, version, 'waiting', nonce, hash, waits FROM moved`

	intentsStuck = `
		WITH old AS (
			SELECT id FROM (SELECT id FROM conch.intents WHERE chain = $1 AND account = $2 AND waits AND NOT stuck AND created_at < clock_timestamp() - $3::interval
			  ORDER BY seq LIMIT $4 FOR UPDATE SKIP LOCKED) w
			 UNION ALL
			SELECT id FROM (SELECT id FROM conch.intents WHERE chain = $1 AND account = $2 AND put_off AND NOT stuck AND created_at < clock_timestamp() - $3::interval
			  ORDER BY seq LIMIT $4 FOR UPDATE SKIP LOCKED) p),
		moved AS (UPDATE conch.intents i SET stuck = true, version = i.version + 1 FROM old o WHERE i.id = o.id RETURNING i.*)
		INSERT INTO conch.pending_events (chain, account, intent, version, kind, why)
		SELECT m.chain, m.account, m.id, m.version, 'waiting',
		       coalesce(nullif(m.held_why, ''), (SELECT h.why FROM conch.pending_holds h WHERE h.chain = m.chain AND h.account = m.account), '')
		  FROM moved m`
)
