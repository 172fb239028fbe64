package pgstore

import (
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
)

// queueHold replaces the account's hold, unless a later write has. It is the last statement before the
// fence: the row that it locks is one for the whole account, and a transaction that has it then waits
// for no row that another write of the account could have locked before.
//
// The time stays while the same intent is in the way, even if the chain's words for it change.
func (s *Store) queueHold(batch *pgx.Batch, t fence.Token, b pending.Batch) {
	if b.Hold == nil {
		return
	}
	var intent pgtype.UUID
	if b.Hold.Intent != (pending.ID{}) {
		intent = uuid(&b.Hold.Intent)
	}
	batch.Queue(`
		INSERT INTO conch.pending_holds AS h (chain, account, intent, why, since, epoch, write)
		VALUES ($1, $2, $3, $4, clock_timestamp(), $5, $6)
		    ON CONFLICT (chain, account) DO UPDATE
		   SET intent = excluded.intent, why = excluded.why, epoch = excluded.epoch, write = excluded.write,
		       since = CASE WHEN h.intent = excluded.intent OR h.intent IS NULL AND excluded.intent IS NULL AND h.why = excluded.why
		                    THEN h.since ELSE excluded.since END
		 WHERE (h.epoch, h.write) < (excluded.epoch, excluded.write)`,
		s.cfg.Chain, []byte(b.Account), intent, storable(b.Hold.Why), t.Epoch, int64(b.Number))
}
