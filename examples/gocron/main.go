// Command gocron runs the jobs of a scheduler in several processes, each time of a job in one of them. Start it on several machines:
//
//	CONCH_DB_URL=postgres://app@localhost/app gocron
//
// An elector is not enough for that: the process that leads when its own clock says so need not be the one that has led when another's did.
package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/schedule/pgstore"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := schedule(ctx, os.Getenv("CONCH_DB_URL")); err != nil {
		slog.Error("the scheduler has ended", "error", err)
		os.Exit(1)
	}
}

func schedule(ctx context.Context, url string) (err error) {
	mint, err := pgmint.New(pgmint.Config{URL: url, AppName: "reports"})
	if err != nil {
		return err
	}
	defer mint.Close()
	slots, err := pgstore.Open(ctx, pgstore.Connection{URL: url, AppName: "reports slots"}, 2)
	if err != nil {
		return err
	}
	defer slots.Close()
	s, err := gocron.NewScheduler(gocron.WithLocation(time.UTC)) // the machines may have different zones
	if err != nil {
		return err
	}
	each := locker{mint: mint, slots: slots, slot: 5 * time.Minute, within: 30 * time.Second}
	_, err = s.NewJob(
		gocron.CronJob("*/5 * * * *", false),
		gocron.NewTask(func(ctx context.Context) { slog.InfoContext(ctx, "the report is made here") }),
		gocron.WithName("report"), gocron.WithDistributedJobLocker(each),
	)
	if err != nil {
		return err
	}
	s.Start()
	<-ctx.Done()
	return errors.Join(s.Shutdown())
}
