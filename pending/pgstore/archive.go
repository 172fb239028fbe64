package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// Archive implements pending.Archiver: one round trip, one transaction, fenced at its end.
func (s *Store) Archive(ctx context.Context, t fence.Token, account chain.Account, older time.Duration, most int) (moved int, err error) {
	var batch pgx.Batch
	batch.Queue(`SELECT conch.pending_archive($1, $2, $3, $4)`, s.cfg.Chain, []byte(account), older, most).
		QueryRow(func(row pgx.Row) error { return row.Scan(&moved) })
	queueFence(&batch, t)
	return moved, s.cfg.stale(s.pool.SendBatch(ctx, &batch).Close())
}
