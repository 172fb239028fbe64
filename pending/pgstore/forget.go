package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/internal/pg"
)

// Forget deletes up to most of the account's oldest intents that have ended for that long, by the database's clock, and
// have a space, with their slots; as many of the archive besides. Their IDs are not found any more, and
// their keys are new ones. Any process may ask for it. Like [Store.Archive] it waits for no lock on the table, and deletes
// nothing then.
func (s *Store) Forget(ctx context.Context, account chain.Account, age time.Duration, most int) (gone int, err error) {
	var batch pgx.Batch
	batch.Queue(`SELECT conch.pending_forget($1, $2, $3, $4)`, s.cfg.Chain, []byte(account), age, most).
		QueryRow(func(row pgx.Row) error { return row.Scan(&gone) })
	err = s.db.pools.Commit(ctx, &batch)
	if pg.Code(err) == pg.CodeLockTimeout {
		return 0, nil
	}
	return gone, err
}
