package pgstore

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/schedule"
	"github.com/conchhq/conch/schedule/internal/core"
)

// Declare implements [schedule.Store].
func (s *Store) Declare(ctx context.Context, f schedule.File) error {
	return s.durably(ctx, func(tx pgx.Tx) error { return declare(ctx, tx, f) })
}

// durably does something in a transaction of which the end is certain.
func (s *Store) durably(ctx context.Context, do func(pgx.Tx) error) error {
	return s.pools.Writers.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		return pg.Confirmed(conn.Conn(), func() error {
			return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
				if _, err := tx.Exec(ctx, pg.Durable); err != nil {
					return err
				}
				return do(tx)
			})
		})
	})
}

func declare(ctx context.Context, tx pgx.Tx, file schedule.File) error {
	var counts int64
	var started *time.Time
	row := tx.QueryRow(ctx, `SELECT version, started, clock_timestamp() FROM conch.cron_file FOR UPDATE`)
	if err := row.Scan(&counts, &started, &file.Started); err != nil || !file.Replaces(counts, orZero(started)) {
		return err
	}
	living, err := living(ctx, tx)
	if err != nil {
		return err
	}
	sum, err := digest(file.Crons)
	if err != nil {
		return err
	}
	var batch pgx.Batch
	batch.Queue(`UPDATE conch.cron_file SET version = $1, started = $2, node = $3, digest = $4, hold = $5`, file.Version, file.Started, file.Node, sum, file.Hold)
	for _, c := range file.Changes(living) {
		definition, err := json.Marshal(asRow(c.Definition))
		if err != nil {
			return err
		}
		batch.Queue(`SELECT conch.cron_revise($1, $2, $3, true)`, c.Name, definition, c.Retired)
	}
	return tx.SendBatch(ctx, &batch).Close()
}

// Differs names the node whose file counts, if that has the version of another file and other crons.
func (s *Store) Differs(ctx context.Context, f schedule.File) (node string, differs bool, err error) {
	sum, err := digest(f.Crons)
	if err != nil {
		return "", false, err
	}
	err = s.pools.Readers.QueryRow(ctx, `SELECT node FROM conch.cron_file WHERE version = $1 AND digest <> $2`, f.Version, sum).Scan(&node)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", false, nil
	}
	return node, err == nil, err
}

// digest is equal for files that say the same.
func digest(crons []schedule.Cron) ([]byte, error) {
	all := make([]definition, len(crons))
	for i, c := range crons {
		all[i] = asRow(c)
	}
	slices.SortFunc(all, func(a, b definition) int { return strings.Compare(a.Name, b.Name) })
	text, err := json.Marshal(all)
	sum := sha256.Sum256(text)
	return sum[:], err
}

// living lists the crons that are not retired, and keeps them so.
func living(ctx context.Context, tx pgx.Tx) ([]core.Living, error) {
	rows, err := tx.Query(ctx, `
		SELECT c.id, c.filed, v.definition FROM conch.crons c JOIN conch.cron_revisions v ON v.cron = c.id AND v.n = c.newest
		 WHERE NOT c.retired ORDER BY c.id FOR UPDATE OF c`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (l core.Living, err error) {
		var definition []byte
		if err := row.Scan(&l.ID, &l.Filed, &definition); err != nil {
			return l, err
		}
		return l, decode(definition, &l.Definition)
	})
}
