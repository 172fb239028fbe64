package pgstore_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/schedule"
	"github.com/conchhq/conch/schedule/pgstore"
)

// works has a worker lead a post in an epoch until the test ends, or end is called.
func works(t *testing.T, s *pgstore.Store, scope string, epoch int64, cfg schedule.WorkerConfig) (end func()) {
	t.Helper()
	cfg.Queues = []string{"q"}
	w, err := schedule.NewWorker(cfg, s)
	if err != nil {
		t.Fatal(err)
	}
	gate, latch := fence.New(scope, nil)
	latch.Open(fence.Token{Scope: scope, Epoch: epoch, Term: fence.Term{byte(epoch)}}, 0, fence.Boottime().Add(time.Hour))
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { _ = w.Run(ctx, gate) })
	group.Go(func() { _ = s.ListenJobs(ctx, w.Woken) })
	end = sync.OnceFunc(func() { cancel(); group.Wait() })
	t.Cleanup(end)
	return end
}

// pay has an effect and ends the job of an attempt, in one transaction.
func pay(ctx context.Context, conn *pgx.Conn, task *schedule.Task) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `INSERT INTO public.paid VALUES ($1)`, task.ID); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `SELECT conch.job_done($1, $2)`, task.ID, task.Attempt)
		return err
	})
}

// F13: workers freeze in their handlers, each after it has taken the post of the one before. Each job is done once all the same: by the one that takes
// the post over, and what those do that wake up is refused.
func TestFrozenWorkers(t *testing.T) {
	t.Parallel()
	const rounds = 30
	db := pgtest.New(t)
	s, conn := open(t, db.Config()), db.Connect(t)
	run(t, conn, `CREATE TABLE public.paid (job bigint); INSERT INTO public.minted VALUES (1, 'worker/1')`)
	wake, frozen, done := make(chan struct{}), make(chan int64, rounds), make(chan int64, rounds)
	var refusals atomic.Int32
	var ends []func()
	begin := func(epoch int64) {
		run(t, conn, `UPDATE public.minted SET epoch = $1 WHERE scope = 'worker/1'`, epoch)
		own := db.Connect(t)
		ends = append(ends, works(t, s, "worker/1", epoch, schedule.WorkerConfig{Handlers: map[string]schedule.Handler{"pay": func(_ context.Context, task *schedule.Task) ([]byte, error) {
			if task.Attempt == 1 {
				frozen <- task.ID
				<-wake
			}
			ctx, cancel := context.WithTimeout(context.Background(), patience) // that of a process which does not know how late it is
			defer cancel()
			err := pay(ctx, own, task)
			if refused(err, "CN021") {
				refusals.Add(1)
			} else if err == nil {
				done <- task.ID
			}
			return nil, err
		}}}))
	}
	await := func(what string, from chan int64, want int64) {
		t.Helper()
		select {
		case got := <-from:
			if got != want {
				t.Errorf("job %d is %s, want %d", got, what, want)
			}
		case <-time.After(patience):
			t.Fatalf("job %d is not %s", want, what)
		}
	}
	var took []time.Duration
	begin(1)
	for epoch := int64(1); epoch <= rounds; epoch++ {
		id := scan[int64](t, conn, `SELECT conch.job_add('q', 'pay', fenced => true)`)
		await("begun", frozen, id)
		begin(epoch + 1)
		began := time.Now()
		await("done", done, id)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	t.Logf("from the post to the effect of the next attempt: p50 %s, longest %s", took[len(took)/2], took[len(took)-1])
	close(wake)
	for _, end := range ends {
		end()
	}
	if all, jobs := scan[int](t, conn, `SELECT count(*) FROM public.paid`), scan[int](t, conn, `SELECT count(DISTINCT job) FROM public.paid`); all != rounds || jobs != rounds || refusals.Load() != rounds {
		t.Errorf("%d effects of %d jobs, and %d were refused", all, jobs, refusals.Load())
	}
	if got := scan[string](t, conn, `SELECT string_agg(DISTINCT attempt || outcome, ' ') FROM conch.job_attempts`); got != "1lost 2done" {
		t.Errorf("the attempts are %s", got)
	}
}

// F13: workers share a queue. Each job is done once, one of a lane at a time, and what fails is tried again.
func TestWorkers(t *testing.T) {
	t.Parallel()
	const jobs, lanes = 200, 5
	db := pgtest.New(t)
	s, conn := open(t, db.Config()), db.Connect(t)
	var mu sync.Mutex
	busy, tried := map[string]bool{}, map[int64]int{}
	var done atomic.Int32
	handlers := map[string]schedule.Handler{"work": func(_ context.Context, task *schedule.Task) ([]byte, error) {
		lane := string(task.Args)
		mu.Lock()
		if lane != `"0"` && busy[lane] {
			t.Errorf("two jobs of lane %s are at work", lane)
		}
		busy[lane] = true
		tried[task.ID]++
		first := tried[task.ID] == 1 && task.ID%50 == 0
		mu.Unlock()
		defer func() {
			mu.Lock()
			defer mu.Unlock()
			busy[lane] = false
		}()
		if first {
			return nil, schedule.ErrLater
		}
		done.Add(1)
		return []byte(`{"ok": true}`), nil
	}}
	for i := range 3 {
		works(t, s, fmt.Sprint("worker/", i+1), 1, schedule.WorkerConfig{Handlers: handlers})
	}
	run(t, conn, `SELECT conch.job_add('q', 'work', to_json((i % $2)::text), lane => nullif((i % $2)::text, '0')) FROM generate_series(1, $1::int) i`, jobs, lanes)
	pgtest.Eventually(t, patience, "the end of all jobs", func() bool {
		return scan[int](t, conn, `SELECT count(*) FROM conch.job_attempts WHERE outcome = 'done'`) == jobs
	})
	if n := done.Load(); n != jobs {
		t.Errorf("%d jobs were done", n)
	}
	outcomes := strings.Split(scan[string](t, conn, `SELECT string_agg(DISTINCT outcome, ' ' ORDER BY outcome) FROM conch.job_attempts`), " ")
	if !slices.Equal(outcomes, []string{"done", "later"}) {
		t.Errorf("the outcomes are %q", outcomes)
	}
}
