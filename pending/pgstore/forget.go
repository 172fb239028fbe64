package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/internal/pg"
)

// Forget implements [pending.Forgetter], in one round trip and one transaction. Like [Store.Archive] it waits for no lock on
// the table, and forgets nothing then.
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
