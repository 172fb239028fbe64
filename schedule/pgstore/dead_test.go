package pgstore_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/schedule/pgstore"
)

// kill makes jobs that are dead at once.
func kill(t *testing.T, conn *pgx.Conn, jobs int) {
	t.Helper()
	run(t, conn, `SELECT conch.job_add('q', 'work', retries => 1) FROM generate_series(1, $1)`, jobs)
	die(t, conn, jobs)
}

// die has so many jobs die.
func die(t *testing.T, conn *pgx.Conn, jobs int) {
	t.Helper()
	run(t, conn, `
		WITH k AS (SELECT array_agg(t.job) AS jobs, array_agg(t.attempt) AS attempts, array_agg('dead'::text) AS outcomes, array_agg('no'::text) AS errors,
		                  array_agg(NULL::json) AS results, array_agg(0::float8) AS pauses FROM conch.job_take('{q}', 'worker/1', 1, $1) t)
		SELECT conch.job_end(k.jobs, k.attempts, k.outcomes, k.errors, k.results, k.pauses) FROM k`, jobs)
}

// F13: an operation retries each dead job once, however often it is given: not those that have died again since.
func TestDeadJobsAreRetriedOnce(t *testing.T) {
	t.Parallel()
	const jobs = 2500 // three steps
	s, conn := opened(t)
	kill(t, conn, jobs)
	o := pgstore.Operation{ID: [16]byte{1}, Kind: pgstore.Retry, Queue: "q"}
	run(t, conn, `INSERT INTO conch.job_operations (id, kind, queue) VALUES ($1, 'retry', 'q')`, o.ID)
	if n := scan[int](t, conn, `SELECT conch.dead_step($1, 700)`, o.ID); n != 700 { // the command dies here
		t.Errorf("a step takes %d", n)
	}
	die(t, conn, 100)
	for range 2 {
		if done, err := s.Operate(t.Context(), o); err != nil || done != jobs {
			t.Errorf("%d were retried, %v", done, err)
		}
	}
	if ready, dead := scan[int](t, conn, `SELECT count(*) FROM conch.job_ready`), scan[int](t, conn, `SELECT count(*) FROM conch.job_dead`); ready != jobs-100 || dead != 100 {
		t.Errorf("%d are ready and %d dead", ready, dead)
	}
	if attempt := scan[int](t, conn, `SELECT max(attempt) FROM conch.job_ready`); attempt != 2 {
		t.Errorf("the next attempt is %d", attempt)
	}
}

// While two operations are carried on, a dead job is of one of them: the other one neither waits for it nor counts it.
func TestTwoOperationsShareNoJob(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s, conn, other := open(t, db.Config()), db.Connect(t), db.Connect(t)
	kill(t, conn, 2)
	run(t, conn, `INSERT INTO conch.job_operations (id, kind) VALUES ($1, 'discard')`, [16]byte{1})
	commit := held(t, other, `SELECT conch.dead_step($1, 1)`, [16]byte{1})
	if done, err := s.Operate(t.Context(), pgstore.Operation{ID: [16]byte{2}, Kind: pgstore.Retry}); err != nil || done != 1 {
		t.Errorf("%d were retried, %v; want the one that nobody has", done, err)
	}
	commit()
	if done, err := s.Resume(t.Context(), [16]byte{1}); err != nil || done != 1 {
		t.Errorf("%d were discarded, %v", done, err)
	}
	take(t, s, 9, 2)
}

// One dead job is discarded, another retried; an operation of another database is not known.
func TestSomeDeadJobs(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	kill(t, conn, 3)
	if done, err := s.Operate(t.Context(), pgstore.Operation{ID: [16]byte{1}, Kind: pgstore.Discard, Jobs: []int64{1}}); err != nil || done != 1 {
		t.Errorf("%d were discarded, %v", done, err)
	}
	if done, err := s.Operate(t.Context(), pgstore.Operation{ID: [16]byte{2}, Kind: pgstore.Retry, Jobs: []int64{1, 2}}); err != nil || done != 1 {
		t.Errorf("%d were retried, %v", done, err)
	}
	take(t, s, 9, 2)
	if _, err := s.Resume(t.Context(), [16]byte{9}); !errors.Is(err, pgstore.ErrUnknown) {
		t.Errorf("got %v", err)
	}
}

// F13: an operation that has ended has ended. Given again it takes nothing that it had to leave to another one, and its end stays where it was.
func TestAnOperationEndsOnce(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s, conn, other := open(t, db.Config()), db.Connect(t), db.Connect(t)
	kill(t, conn, 2)
	o := pgstore.Operation{ID: [16]byte{1}, Kind: pgstore.Retry}
	operates := func() pgstore.Carried {
		t.Helper()
		if done, err := s.Operate(t.Context(), o); err != nil || done != 1 {
			t.Errorf("%d were retried, %v; want the one that nobody has", done, err)
		}
		c, err := s.Operation(t.Context(), o.ID)
		if err != nil || c.Ended.IsZero() {
			t.Errorf("got %+v, %v", c, err)
		}
		return c
	}
	commit := held(t, other, `SELECT FROM conch.job_dead WHERE job = 1 FOR UPDATE`)
	ended := operates().Ended
	commit()
	if again := operates().Ended; !again.Equal(ended) {
		t.Errorf("it has ended at %s, and at %s", ended, again)
	}
}

// F13: what an operation has retried and what dies again is not of that operation, also by a clock that has gone back.
func TestRetriedOnceByAnyClock(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	kill(t, conn, 2)
	o := pgstore.Operation{ID: [16]byte{1}, Kind: pgstore.Retry}
	run(t, conn, `INSERT INTO conch.job_operations (id, kind) VALUES ($1, 'retry')`, o.ID)
	run(t, conn, `SELECT conch.dead_step($1, 1)`, o.ID)
	die(t, conn, 1)
	run(t, conn, `UPDATE conch.job_dead SET died_at = died_at - interval '1h'`)
	if done, err := s.Operate(t.Context(), o); err != nil || done != 2 {
		t.Errorf("%d were retried, %v", done, err)
	}
	take(t, s, 9, 2)
}
