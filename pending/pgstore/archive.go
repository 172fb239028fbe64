package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
)

// Archive implements [pending.Archiver], in one round trip and one transaction, fenced at its end.
// While another session, such as a vacuum, holds a lock on the table it moves nothing: everybody
// else would wait behind it.
func (s *Store) Archive(ctx context.Context, t fence.Token, account chain.Account, age time.Duration, most int) (moved int, err error) {
	var batch pgx.Batch
	batch.Queue(pg.Durable)
	batch.Queue(`SELECT conch.pending_archive($1, $2, $3, $4)`, s.cfg.Chain, []byte(account), age, most).
		QueryRow(func(row pgx.Row) error { return row.Scan(&moved) })
	pgfence.Queue(&batch, t)
	err = translate(s.db.pools.Commit(ctx, &batch))
	if pg.Code(err) == pg.CodeLockTimeout {
		return 0, nil
	}
	return moved, err
}
