// Package pgcrons reads from the database what came of the crons in it, for a judge. It reads the tables directly and shares no
// code with what fills them.
package pgcrons

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
)

// of are the times of a cron's jobs.
const of = `SELECT extract(epoch FROM j.at)::bigint FROM conch.jobs j JOIN conch.crons c ON c.id = j.cron AND c.name = $1 `

// Read reads what came of the times of a cron, in seconds.
func Read(ctx context.Context, url, name string) (*evidence.Cron, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	c := &evidence.Cron{}
	for _, one := range []struct {
		to  *[]int64
		sql string
	}{
		{&c.Rows, `SELECT extract(epoch FROM r.at)::bigint FROM conch.cron_runs r JOIN conch.crons c ON c.id = r.cron AND c.name = $1`},
		{&c.Jobs, of},
		{&c.Done, of + `JOIN conch.job_attempts a ON a.job = j.id AND a.outcome = 'done'`},
		{&c.Open, of + `WHERE j.id IN (SELECT job FROM conch.job_ready UNION ALL SELECT job FROM conch.job_later UNION ALL SELECT job FROM conch.job_waiting
			UNION ALL SELECT job FROM conch.job_taken)`},
	} {
		rows, _ := conn.Query(ctx, one.sql, name) // they have its error
		if *one.to, err = pgx.CollectRows(rows, pgx.RowTo[int64]); err != nil {
			return nil, err
		}
	}
	return c, nil
}
