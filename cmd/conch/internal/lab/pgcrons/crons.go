// Package pgcrons reads from the database what came of the crons in it, for a judge. It reads the tables directly and shares no
// code with what fills them.
package pgcrons

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
)

// Read reads the times of a cron that have a row, and those that have a job, each in seconds.
func Read(ctx context.Context, url, name string) (*evidence.Cron, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	times := func(sql string) (all []int64, err error) {
		rows, err := conn.Query(ctx, sql, name)
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, pgx.RowTo[int64])
	}
	c := &evidence.Cron{}
	if c.Rows, err = times(`SELECT extract(epoch FROM r.at)::bigint FROM conch.cron_runs r JOIN conch.crons c ON c.id = r.cron WHERE c.name = $1 ORDER BY 1`); err != nil {
		return nil, err
	}
	c.Jobs, err = times(`SELECT extract(epoch FROM j.at)::bigint FROM conch.jobs j JOIN conch.crons c ON c.id = j.cron WHERE c.name = $1 ORDER BY 1`)
	return c, err
}
