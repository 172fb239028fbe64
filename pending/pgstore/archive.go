package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// Archive implements pending.Archiver: one round trip, one transaction, fenced at its end.
func (s *Store) Archive(ctx context.Context, t fence.Token, account chain.Account, older time.Duration, most int) (moved int, err error) {
	var batch pgx.Batch
	batch.Queue(`SELECT conch.pending_archive($1, $2, $3, $4)`, s.cfg.Chain, []byte(account), older, most).
		QueryRow(func(row pgx.Row) error { return row.Scan(&moved) })
	batch.Queue(`SELECT conch.fence($1, $2, $3)`, t.Scope, t.Epoch, pgtype.UUID{Bytes: t.Term, Valid: true})
	return moved, s.cfg.stale(s.pool.SendBatch(ctx, &batch).Close())
}
