// Package pgjobs fills the tables of crons and jobs for package bench, runs crons and workers in its process, and asks the server what came of it. It measures nothing itself.
package pgjobs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/schedule/pgstore"
)

// Tables is a connection to a database with the tables.
type Tables struct {
	url  string
	conn *pgx.Conn
}

// Open connects, and makes the tables. The election's are there.
func Open(ctx context.Context, url string) (*Tables, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	d := &Tables{url, conn}
	if err := pgstore.Up(ctx, conn, func(string) {}); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Close ends the connection.
func (d *Tables) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = d.conn.Close(ctx)
}

// Text is what a job carries: 90 bytes of JSON.
var Text = `{"text": "` + strings.Repeat("a", 78) + `"}`

// atOnce is how many jobs are added in a transaction.
const atOnce = 1000

// Add adds jobs to a queue, a thousand in a transaction.
func (d *Tables) Add(ctx context.Context, queue string, many int) error {
	for ; many > 0; many -= atOnce {
		if _, err := d.conn.Exec(ctx, `SELECT conch.job_add($1, 'none', $2) FROM generate_series(1, $3)`, queue, Text, min(many, atOnce)); err != nil {
			return err
		}
	}
	return nil
}

// Post adds a job that is posted to an address.
func (d *Tables) Post(ctx context.Context, queue, address string, fenced bool) (id int64, err error) {
	err = d.conn.QueryRow(ctx, `
		WITH j AS (INSERT INTO conch.jobs (queue, handler, args, priority, retries, timeout, fenced)
		           VALUES ($1, jsonb_build_object('http', $2::text), '{}', 0, 100, '1h', $3) RETURNING id)
		SELECT id, conch.job_start(id, 1, now(), NULL)::text FROM j`, queue, address, fenced).Scan(&id, new(string))
	return id, err
}

// Kill adds dead jobs.
func (d *Tables) Kill(ctx context.Context, queue string, many int) error {
	_, err := d.conn.Exec(ctx, `
		WITH j AS (INSERT INTO conch.jobs (queue, handler, args, priority, retries, timeout)
		           SELECT $1, '{"job": "none"}', $2, 1, 0, '1h' FROM generate_series(1, $3) RETURNING id),
		     a AS (INSERT INTO conch.job_attempts (job, attempt, outcome, post, began, ended, error, spare) SELECT id, 1, 'dead', '', now(), now(), 'bench', 0 FROM j)
		INSERT INTO conch.job_dead (job, died_at, attempt, why) SELECT id, now(), 1, 'bench' FROM j`, queue, Text, many)
	return err
}

// Count counts the rows of a table of jobs, such as ready.
func (d *Tables) Count(ctx context.Context, table string) (n int, err error) {
	err = d.conn.QueryRow(ctx, `SELECT count(*) FROM `+pgx.Identifier{"conch", "job_" + table}.Sanitize()).Scan(&n)
	return n, err
}

// Clear deletes all crons and jobs, and has the server write down what it has in memory, which would otherwise cost the one that is measured next.
func (d *Tables) Clear(ctx context.Context) error {
	for _, sql := range []string{
		`TRUNCATE conch.crons, conch.cron_revisions, conch.cron_runs, conch.cron_gaps, conch.jobs, conch.job_ready, conch.job_later, conch.job_lanes, conch.job_waiting,
		 conch.job_keys, conch.job_taken, conch.job_attempts, conch.job_dead, conch.job_operations, conch.job_operated`,
		`UPDATE conch.cron_file SET version = -1`,
	} {
		if _, err := d.conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return d.Checkpoint(ctx)
}

// Checkpoint has the server write down what it has in memory.
func (d *Tables) Checkpoint(ctx context.Context) error {
	_, err := d.conn.Exec(ctx, `CHECKPOINT`)
	return err
}

// Settle has the server collect statistics and clean up.
func (d *Tables) Settle(ctx context.Context) error {
	_, err := d.conn.Exec(ctx, `VACUUM ANALYZE`)
	return err
}

// WAL is how much the server has written to its log, in bytes.
func (d *Tables) WAL(ctx context.Context) (bytes float64, err error) {
	err = d.conn.QueryRow(ctx, `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8`).Scan(&bytes)
	return bytes, err
}

// Hold holds a snapshot open on a connection of its own.
func (d *Tables) Hold(ctx context.Context) (release func(), err error) {
	conn, err := pgx.Connect(ctx, d.url)
	if err != nil {
		return nil, err
	}
	release = func() { _ = conn.Close(context.WithoutCancel(ctx)) }
	if _, err := conn.Exec(ctx, `BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM conch.jobs`); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// Plant makes crons that are due each second, evenly over it, and whose jobs have a queue each.
func (d *Tables) Plant(ctx context.Context, many int) error {
	for i := range many {
		name := fmt.Sprintf("c%03d", i)
		const definition = `{"name": %q, "schedule": "@every 1s", "timezone": "UTC", "handler": {"job": "none"}, "args": "{}", "catch_up": "none", "limit": 100, "late": 60,
			"overlap": "allow", "waits": 1, "jitter": 0, "timeout": 3600, "retries": 0, "queue": %q, "priority": 0}`
		if _, err := d.conn.Exec(ctx, `SELECT conch.cron_revise($1, $2, false, false)`, name, fmt.Sprintf(definition, name, name)); err != nil {
			return err
		}
		if _, err := d.conn.Exec(ctx, `UPDATE conch.cron_revisions SET since = date_trunc('second', now()) + $2 * interval '1 second' WHERE cron = (SELECT id FROM conch.crons WHERE name = $1)`, name, float64(i)/float64(many)); err != nil {
			return err
		}
	}
	return nil
}

// Listen tells of each queue that has got a job, and when that was heard, until ctx ends.
func (d *Tables) Listen(ctx context.Context, tell func(queue string, at time.Time)) error {
	conn, err := pgx.Connect(ctx, d.url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, `LISTEN conch_job`); err != nil {
		return err
	}
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			if errors.Is(err, context.Canceled) || ctx.Err() != nil {
				return nil
			}
			return err
		}
		_, queue, _ := strings.Cut(n.Payload, " ") // behind the second since when it has any
		tell(queue, time.Now())
	}
}

// Run is a scheduled time with a row.
type Run struct {
	Queue   string
	At      time.Time
	Decided time.Time // when the transaction had begun that has written it
}

// Runs lists all scheduled times of crons.
func (d *Tables) Runs(ctx context.Context) ([]Run, error) {
	rows, _ := d.conn.Query(ctx, `SELECT j.queue, r.at, r.decided_at AS decided FROM conch.cron_runs r JOIN conch.jobs j ON j.id = r.job ORDER BY r.at`) // they have its error
	return pgx.CollectRows(rows, pgx.RowToStructByName[Run])
}
