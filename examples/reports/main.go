// Reports makes a report every two seconds, each scheduled time once, in one of several processes. A time's row and its job are written by the
// process that leads the scope; a worker takes the job, and the end of the job is in the transaction that has the report: so one that was
// frozen, and whose job another one has by now, reports nothing.
//
//	conch migrate up
//	go run ./examples/reports     # in three terminals; then kill -9 the one that reports
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/schedule"
	"github.com/conchhq/conch/schedule/pgstore"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Getenv("CONCH_DB_URL")); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url string) error {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, `CREATE TABLE IF NOT EXISTS reports (at timestamptz PRIMARY KEY, epoch bigint)`); err != nil {
		return err
	}
	store, err := pgstore.Open(ctx, pgstore.Connection{URL: url, AppName: "reports"}, 4)
	if err != nil {
		return err
	}
	defer store.Close()
	if err := store.Check(ctx); err != nil {
		return err // it says what to do: conch migrate up
	}
	scheduler, err := schedule.New(schedule.Config{Version: 1, Crons: []schedule.Cron{{
		Name: "report", Schedule: "*/2 * * * * *", Job: "report", Fenced: true,
		Overlap: schedule.Queue, Waits: 10, // those that come while a killed process is replaced are made afterwards
	}}}, store)
	if err != nil {
		return err
	}
	if err := scheduler.Declare(ctx); err != nil {
		return err
	}
	worker, err := schedule.NewWorker(schedule.WorkerConfig{Handlers: map[string]schedule.Handler{
		"report": func(ctx context.Context, t *schedule.Task) ([]byte, error) { return nil, report(ctx, pool, t) },
	}}, store)
	if err != nil {
		return err
	}
	go func() { _ = store.ListenJobs(ctx, worker.Woken) }() // without it a poll finds the jobs
	mint, err := pgmint.New(pgmint.Config{URL: url, AppName: "reports"})
	if err != nil {
		return err
	}
	defer mint.Close()
	elector, err := election.New(election.Config{Mint: mint, ID: election.Identity("reports"), Roles: []election.Role{
		{Scope: "reports", Fenced: func(ctx context.Context, l election.Leadership) error { return scheduler.Lead(ctx, l.Gate) }},
		{Scope: "reports/worker", Fenced: func(ctx context.Context, l election.Leadership) error { return worker.Run(ctx, l.Gate) }},
	}})
	if err != nil {
		return err
	}
	return elector.Run(ctx) // until ctx ends; then it hands over
}

// report ends the job where it has its effect.
func report(ctx context.Context, pool *pgxpool.Pool, t *schedule.Task) error {
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `INSERT INTO reports (at, epoch) VALUES ($1, $2)`, t.At, t.Epoch); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `SELECT conch.job_done($1, $2)`, t.ID, t.Attempt)
		return err
	})
	if err == nil {
		fmt.Printf("reported %s under epoch %d\n", t.At.Format(time.TimeOnly), t.Epoch)
	}
	return err
}
