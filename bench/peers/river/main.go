// Command conch-river has a River do jobs, and says in lines of JSON how fast it was. `conch-lab bench schedule` starts it. See ../README.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	riverqueue "github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "conch-river:", err)
		os.Exit(1)
	}
}

// config is what a run measures.
type config struct {
	url                           string
	jobs, workers, slots, singles int
}

// line is one thing that a run has found.
type line struct {
	Kind      string    `json:"kind"`
	Rate      float64   `json:"rate,omitempty"`       // jobs a second
	InsertWAL float64   `json:"insert_wal,omitempty"` // bytes of a job
	WorkWAL   float64   `json:"work_wal,omitempty"`
	Processor float64   `json:"processor,omitempty"` // µs of one that this process takes for a job
	Took      []float64 `json:"took_ms,omitempty"`   // from the commit of a job until it was called
}

// The kinds of lines.
const (
	worked = "work"
	called = "called"
)

func run(ctx context.Context, args []string) error {
	var c config
	flags := flag.NewFlagSet("conch-river", flag.ContinueOnError)
	flags.StringVar(&c.url, "url", "", "of the database")
	flags.IntVar(&c.jobs, "jobs", 40_000, "that do nothing")
	flags.IntVar(&c.workers, "workers", 2, "clients that work, each with a pool of its own")
	flags.IntVar(&c.slots, "slots", 1000, "jobs that each has at a time")
	flags.IntVar(&c.singles, "singles", 200, "jobs one by one, at rest")
	if err := flags.Parse(args); err != nil {
		return err
	}
	b := &bench{config: c, called: make(chan time.Time, 1)}
	return b.run(ctx)
}

// nothing is a job that does nothing.
type nothing struct {
	Text string `json:"text"`
}

// Kind names it.
func (nothing) Kind() string { return "none" }

type bench struct {
	config
	riverqueue.WorkerDefaults[nothing]

	pool   *pgxpool.Pool
	called chan time.Time // when a single job was called
	single bool           // they are done one by one
}

// Work does nothing.
func (b *bench) Work(context.Context, *riverqueue.Job[nothing]) error {
	if b.single {
		b.called <- time.Now()
	}
	return nil
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.pool, err = pgxpool.New(ctx, b.url); err != nil {
		return err
	}
	defer b.pool.Close()
	driver := riverpgxv5.New(b.pool)
	migrator, err := rivermigrate.New(driver, nil)
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	if _, err := b.pool.Exec(ctx, `TRUNCATE river_job`); err != nil {
		return err
	}
	if b.jobs > 0 {
		if err := b.many(ctx); err != nil {
			return err
		}
	}
	if b.singles > 0 {
		return b.oneByOne(ctx)
	}
	return nil
}

func (b *bench) text() string { return strings.Repeat("a", 78) }

func (b *bench) wal(ctx context.Context) (bytes float64, err error) {
	err = b.pool.QueryRow(ctx, `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8`).Scan(&bytes)
	return bytes, err
}

// many inserts jobs, a thousand in a transaction, and has workers do them.
func (b *bench) many(ctx context.Context) error {
	inserter, err := riverqueue.NewClient(riverpgxv5.New(b.pool), &riverqueue.Config{})
	if err != nil {
		return err
	}
	first, err := b.wal(ctx)
	if err != nil {
		return err
	}
	const atOnce = 1000
	for left := b.jobs; left > 0; left -= atOnce {
		batch := make([]riverqueue.InsertManyParams, min(left, atOnce))
		for i := range batch {
			batch[i].Args = nothing{b.text()}
		}
		if _, err := inserter.InsertManyFast(ctx, batch); err != nil {
			return err
		}
	}
	if _, err := b.pool.Exec(ctx, `CHECKPOINT`); err != nil {
		return err
	}
	inserted, err := b.wal(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	clients, ended, err := b.start(ctx)
	if err != nil {
		return err
	}
	select {
	case <-ended:
	case <-ctx.Done():
		return ctx.Err()
	}
	took := time.Since(began)
	if err := stop(ctx, clients); err != nil {
		return err
	}
	last, err := b.wal(ctx)
	if err != nil {
		return err
	}
	each := func(bytes float64) float64 { return bytes / float64(b.jobs) }
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return err
	}
	return say(line{
		Kind: worked, Rate: float64(b.jobs) / took.Seconds(), InsertWAL: each(inserted - first), WorkWAL: each(last - inserted),
		Processor: each(float64(used.Utime.Nano()+used.Stime.Nano()) / 1e3),
	})
}

// start starts clients that are tuned to take at once. The channel is closed when as many jobs are completed as were to be.
func (b *bench) start(ctx context.Context) (clients []*riverqueue.Client[pgx.Tx], ended chan struct{}, err error) {
	ended = make(chan struct{})
	var completed atomic.Int64
	for range b.workers {
		pool, err := pgxpool.New(ctx, b.url)
		if err != nil {
			return clients, nil, err
		}
		workers := riverqueue.NewWorkers()
		riverqueue.AddWorker(workers, b)
		client, err := riverqueue.NewClient(riverpgxv5.New(pool), &riverqueue.Config{
			Workers: workers, Queues: map[string]riverqueue.QueueConfig{riverqueue.QueueDefault: {MaxWorkers: b.slots}},
			FetchCooldown: 2 * time.Millisecond, FetchPollInterval: 100 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			return clients, nil, err
		}
		events, _ := client.SubscribeConfig(&riverqueue.SubscribeConfig{Kinds: []riverqueue.EventKind{riverqueue.EventKindJobCompleted}, ChanSize: 100_000})
		go func() {
			for range events { // until the client has stopped
				if completed.Add(1) == int64(b.jobs) {
					close(ended)
				}
			}
			pool.Close()
		}()
		if err := client.Start(ctx); err != nil {
			return clients, nil, err
		}
		clients = append(clients, client)
	}
	return clients, ended, nil
}

func stop(ctx context.Context, clients []*riverqueue.Client[pgx.Tx]) (err error) {
	for _, c := range clients {
		err = errors.Join(err, c.Stop(ctx))
	}
	return err
}

// oneByOne inserts a job at rest, and the next one when it has been called.
func (b *bench) oneByOne(ctx context.Context) error {
	b.single = true
	clients, _, err := b.start(ctx)
	if err != nil {
		return err
	}
	out := line{Kind: called}
	for i := range b.singles + 1 {
		if _, err := clients[0].Insert(ctx, nothing{b.text()}, nil); err != nil {
			return err
		}
		committed := time.Now()
		select {
		case at := <-b.called:
			if i > 0 { // the first one finds what is not prepared yet
				out.Took = append(out.Took, max(float64(at.Sub(committed))/1e6, 0))
			}
		case <-time.After(time.Minute):
			return errors.New("a job was not called within a minute")
		case <-ctx.Done():
			return ctx.Err()
		}
		time.Sleep(time.Duration(5+i%7*3) * time.Millisecond) // so that its end is not in the way of the next one
	}
	if err := stop(ctx, clients); err != nil {
		return err
	}
	return say(out)
}

func say(l line) error { return json.NewEncoder(os.Stdout).Encode(l) }
