package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/schedule/pgstore"
)

// take takes jobs, which must be those.
func take(t *testing.T, s *pgstore.Store, most int, want ...int64) []pgstore.Job {
	t.Helper()
	got, err := s.Take(t.Context(), worker, []string{"q"}, most)
	if err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for _, j := range got {
		ids = append(ids, j.ID)
	}
	if slices.Sort(ids); !slices.Equal(ids, want) {
		t.Errorf("took %v, want %v", ids, want)
	}
	return got
}

func refused(err error, code string) bool {
	var refusal *pgconn.PgError
	return errors.As(err, &refusal) && refusal.Code == code
}

// F13: a job that somebody adds is taken, and ended once.
func TestAJob(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	id := scan[int64](t, conn, `SELECT conch.job_add('q', 'hello', '{"to": 1}', timeout => '90s')`)
	scan[int64](t, conn, `SELECT conch.job_add('other', 'hello')`)
	j := take(t, s, 10, id)[0]
	if j.Attempt != 1 || j.Queue != "q" || string(j.Handler) != `{"job": "hello"}` || string(j.Args) != `{"to": 1}` || j.Timeout != 90*time.Second || j.Cron != 0 {
		t.Errorf("took %+v", j)
	}
	take(t, s, 10)
	if err := s.Done(t.Context(), id, 2, nil); !errors.Is(err, pgstore.ErrOver) {
		t.Errorf("an attempt that has not begun ends with %v", err)
	}
	if err := s.Done(t.Context(), id, 1, []byte(`{"ok": true}`)); err != nil {
		t.Fatal(err)
	}
	if err := s.Done(t.Context(), id, 1, nil); !errors.Is(err, pgstore.ErrOver) {
		t.Errorf("an end that is told twice ends with %v", err)
	}
	if got := scan[string](t, conn, `SELECT outcome || result FROM conch.job_attempts WHERE job = $1`, id); got != `done{"ok": true}` {
		t.Errorf("the attempt is %s", got)
	}
}

// A worker whose post is another's takes nothing.
func TestAStaleWorkerTakesNothing(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	id := scan[int64](t, conn, `SELECT conch.job_add('q', 'hello')`)
	stale := worker
	stale.Epoch = 7
	if got, err := s.Take(t.Context(), stale, []string{"q"}, 1); !errors.Is(err, fence.ErrStale) || len(got) != 0 {
		t.Errorf("took %v, %v", got, err)
	}
	take(t, s, 1, id)
}

// The effect of a handler and the end of its attempt are one: a handler that was frozen while its job was given back undoes its effect.
func TestEffectAndEndAreOne(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	run(t, conn, `CREATE TABLE public.paid (job bigint)`)
	id := scan[int64](t, conn, `SELECT conch.job_add('q', 'pay')`)
	take(t, s, 1, id)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	late, err := conn.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := late.Exec(ctx, `INSERT INTO public.paid VALUES ($1)`, id); err != nil {
		t.Fatal(err)
	}
	if err := s.Failed(ctx, id, 1, pgstore.Lost, "its worker is gone", 0, false); err != nil {
		t.Fatal(err)
	}
	if _, err := late.Exec(ctx, `SELECT conch.job_done($1, 1)`, id); !refused(err, "CN021") {
		t.Errorf("the end of a lost attempt is %v", err)
	}
	if err := late.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	j := take(t, s, 1, id)[0]
	if j.Attempt != 2 {
		t.Errorf("it is attempt %d", j.Attempt)
	}
	run(t, conn, `BEGIN; INSERT INTO public.paid VALUES (`+fmt.Sprint(id)+`); SELECT conch.job_done(`+fmt.Sprint(id)+`, 2); COMMIT`)
	if n := scan[int](t, conn, `SELECT count(*) FROM public.paid`); n != 1 {
		t.Errorf("%d effects", n)
	}
}

// job_hold keeps an attempt from being given back until the transaction ends, and refuses one that is over.
func TestHold(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s, conn, other := open(t, db.Config()), db.Connect(t), db.Connect(t)
	id := scan[int64](t, conn, `SELECT conch.job_add('q', 'pay')`)
	take(t, s, 1, id)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tx, err := conn.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, `SELECT conch.job_hold($1, 1)`, id); err != nil {
		t.Fatal(err)
	}
	run(t, other, `SET lock_timeout = '100ms'`)
	if _, err := other.Exec(ctx, `SELECT conch.job_failed($1, 1, 'lost', '', '0', false)`, id); !refused(err, "55P03") {
		t.Errorf("a held attempt is given back: %v", err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.Failed(ctx, id, 1, pgstore.Lost, "", 0, false); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(ctx, `SELECT conch.job_hold($1, 1)`, id); !refused(err, "CN021") {
		t.Errorf("an attempt that is over is held: %v", err)
	}
}

// A job that fails is tried again, later, and in the end it is dead. An attempt counts when it is taken. A delay that was made while the clock was
// ahead is over.
func TestFailures(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	id := scan[int64](t, conn, `SELECT conch.job_add('q', 'work', retries => 2)`)
	fail := func(attempt int, pause time.Duration, final bool) {
		t.Helper()
		if err := s.Failed(t.Context(), id, attempt, pgstore.Failed, "it does not work", pause, final); err != nil {
			t.Fatal(err)
		}
	}
	take(t, s, 1, id)
	fail(1, time.Hour, false)
	take(t, s, 1)
	run(t, conn, `UPDATE conch.job_later SET made_at = now() + interval '1h', run_at = now() + interval '2h'`)
	take(t, s, 1, id)
	fail(2, 0, false)
	if j := take(t, s, 1, id)[0]; j.Attempt != 3 {
		t.Errorf("it is attempt %d", j.Attempt)
	}
	fail(3, 0, false)
	take(t, s, 1)
	if why := scan[string](t, conn, `SELECT why || attempt FROM conch.job_dead WHERE job = $1`, id); why != "it does not work3" {
		t.Errorf("it is dead because of %s", why)
	}
	id = scan[int64](t, conn, `SELECT conch.job_add('q', 'work', retries => 2)`)
	take(t, s, 1, id)
	fail(1, 0, true)
	if n := scan[int](t, conn, `SELECT count(*) FROM conch.job_dead`); n != 2 {
		t.Errorf("%d are dead", n)
	}
}

// What is to come later is not taken before; what is more urgent goes first, but does not starve the rest.
func TestOrder(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	scan[int64](t, conn, `SELECT conch.job_add('q', 'later', run_at => now() + interval '1 day')`)
	old := scan[int64](t, conn, `SELECT conch.job_add('q', 'old', priority => 3, run_at => now() - interval '1h')`)
	low := scan[int64](t, conn, `SELECT conch.job_add('q', 'low', priority => 2)`)
	high := scan[int64](t, conn, `SELECT conch.job_add('q', 'high', priority => 0)`)
	take(t, s, 1, old)
	take(t, s, 1, high)
	take(t, s, 5, low)
}

// One job of a lane is at work at a time, in the order in which they were added; a dead one makes way.
func TestLanes(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	var ids []int64
	for range 3 {
		ids = append(ids, scan[int64](t, conn, `SELECT conch.job_add('q', 'work', lane => 'a', retries => 0)`))
	}
	other := scan[int64](t, conn, `SELECT conch.job_add('q', 'work', lane => 'b')`)
	take(t, s, 9, ids[0], other)
	take(t, s, 9)
	if err := s.Done(t.Context(), ids[0], 1, nil); err != nil {
		t.Fatal(err)
	}
	take(t, s, 9, ids[1])
	if err := s.Failed(t.Context(), ids[1], 1, pgstore.Failed, "", 0, false); err != nil {
		t.Fatal(err)
	}
	take(t, s, 9, ids[2])
	if err := s.Done(t.Context(), ids[2], 1, nil); err != nil {
		t.Fatal(err)
	}
	if n := scan[int](t, conn, `SELECT count(*) FROM conch.job_lanes WHERE lane = 'a'`); n != 0 {
		t.Error("the lane is still held")
	}
}

// Jobs that are added to a lane while its head ends all come to work.
func TestNoneWaitsForEver(t *testing.T) {
	t.Parallel()
	const adders, each = 3, 30
	db := pgtest.New(t)
	s := open(t, db.Config())
	var group sync.WaitGroup
	for range adders {
		conn := db.Connect(t)
		group.Go(func() {
			for range each {
				if _, err := conn.Exec(t.Context(), `SELECT conch.job_add('q', 'work', lane => 'a')`); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := 0
	pgtest.Eventually(t, patience, "the end of all jobs", func() bool {
		jobs, err := s.Take(t.Context(), worker, []string{"q"}, 10)
		if err != nil || len(jobs) > 1 {
			t.Errorf("took %d jobs of one lane, %v", len(jobs), err)
		}
		for _, j := range jobs {
			if err := s.Done(t.Context(), j.ID, j.Attempt, nil); err != nil {
				t.Error(err)
			}
			done++
		}
		return done == adders*each
	})
	group.Wait()
}

// A key is one job until that has ended.
func TestKeys(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	id := scan[int64](t, conn, `SELECT conch.job_add('q', 'work', key => 'k')`)
	if again := scan[int64](t, conn, `SELECT conch.job_add('q', 'work', key => 'k')`); again != id {
		t.Errorf("the key has the jobs %d and %d", id, again)
	}
	take(t, s, 2, id)
	if err := s.Done(t.Context(), id, 1, nil); err != nil {
		t.Fatal(err)
	}
	if again := scan[int64](t, conn, `SELECT conch.job_add('q', 'work', key => 'k')`); again == id {
		t.Error("the key is still that of a job that has ended")
	}
}

// Workers beside each other take each job once.
func TestManyWorkers(t *testing.T) {
	t.Parallel()
	const jobs, workers = 300, 4
	s, conn := opened(t)
	run(t, conn, `SELECT conch.job_add('q', 'work') FROM generate_series(1, $1)`, jobs)
	var mu sync.Mutex
	var group sync.WaitGroup
	taken := map[int64]bool{}
	for range workers {
		group.Go(func() {
			for {
				got, err := s.Take(t.Context(), worker, []string{"q"}, 7)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, j := range got {
					if taken[j.ID] {
						t.Errorf("job %d is taken twice", j.ID)
					}
					taken[j.ID] = true
				}
				all := len(taken)
				mu.Unlock()
				if len(got) == 0 && all == jobs {
					return
				}
			}
		})
	}
	group.Wait()
}

// Arguments have a limit, and a NUL in them is refused when it is read as text.
func TestBadJobs(t *testing.T) {
	t.Parallel()
	_, conn := opened(t)
	for sql, code := range map[string]string{
		`SELECT conch.job_add('q', 'work', to_json(repeat('a', 300000)))`: "23514",
		`SELECT conch.job_add('', 'work')`:                                "23514",
		`SELECT conch.job_add('q', 'work', priority => 4)`:                "23514",
		`SELECT conch.job_add('q', 'work', retries => -1)`:                "23514",
		`SELECT conch.job_add('q', 'work', '{')`:                          "22P02",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		if _, err := conn.Exec(ctx, sql); !refused(err, code) {
			t.Errorf("%s: %v, want %s", sql, err, code)
		}
		cancel()
	}
}
