package pgstore_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/schedule"
)

// F13: a cancelled job ends: at once, or when its worker has stopped it, and whatever becomes of the attempt.
func TestCancel(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	cancel := func(id int64, want string) {
		t.Helper()
		if got := scan[string](t, conn, `SELECT coalesce(conch.job_cancel($1, 'it is not needed'), 'over')`, id); got != want {
			t.Errorf("the cancel of job %d is %s, want %s", id, got, want)
		}
	}
	var ids []int64
	for range 3 {
		ids = append(ids, scan[int64](t, conn, `SELECT conch.job_add('q', 'work', lane => 'a')`))
	}
	cancel(ids[1], "waiting")
	later := scan[int64](t, conn, `SELECT conch.job_add('q', 'work', key => 'k', run_at => now() + interval '1h')`)
	cancel(later, "later")
	cancel(later, "over")
	take(t, s, 9, ids[0])
	cancel(ids[0], "taken")
	if held, err := s.Look(t.Context(), worker.Scope, nil); err != nil || len(held) != 1 || !held[0].Cancel {
		t.Errorf("its worker sees %+v, %v", held, err)
	}
	tell(t, s, of(ids[0], 1, "lost"))
	if got := scan[string](t, conn, `SELECT string_agg(outcome, ' ') FROM conch.job_attempts`); got != "cancelled cancelled cancelled" {
		t.Errorf("the attempts are %s", got)
	}
	take(t, s, 9, ids[2])
	tell(t, s, of(ids[2], 1, "done"))
	if n := scan[int](t, conn, `SELECT (SELECT count(*) FROM conch.job_lanes) + (SELECT count(*) FROM conch.job_keys)`); n != 0 {
		t.Errorf("%d lanes and keys are held", n)
	}
}

// A worker sees what is taken under its post, and notes how far it is.
func TestLook(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	id := scan[int64](t, conn, `SELECT conch.job_add('q', 'work', fenced => true)`)
	j := take(t, s, 1, id)[0]
	held, err := s.Look(t.Context(), worker.Scope, map[schedule.Key]string{j.Key: "half\x00", {ID: id, Attempt: 7}: "none"})
	if want := (schedule.Held{Key: j.Key, Epoch: 1, Fenced: true}); err != nil || len(held) != 1 || held[0] != want {
		t.Errorf("saw %+v, %v; want %+v", held, err, want)
	}
	if got := scan[string](t, conn, `SELECT progress FROM conch.job_taken`); got != "half?" {
		t.Errorf("it is at %q", got)
	}
	if held, err := s.Look(t.Context(), "worker/2", nil); err != nil || len(held) != 0 {
		t.Errorf("another worker sees %+v, %v", held, err)
	}
}

// Somebody who holds a lane in a transaction of his own keeps its job from ending, and no other.
func TestALaneThatIsHeld(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s, conn, other := open(t, db.Config()), db.Connect(t), db.Connect(t)
	a, b := scan[int64](t, conn, `SELECT conch.job_add('q', 'work', lane => 'a')`), scan[int64](t, conn, `SELECT conch.job_add('q', 'work')`)
	take(t, s, 9, a, b)
	run(t, other, `BEGIN; SELECT conch.job_add('q', 'work', lane => 'a')`)
	out, err := s.Tell(t.Context(), []schedule.End{of(a, 1, "done"), of(b, 1, "done")})
	if err != nil || len(out.Held) != 1 || out.Held[0].ID != a || len(out.Over) != 0 {
		t.Errorf("got %+v, %v", out, err)
	}
	run(t, other, `COMMIT`)
	if !tell(t, s, of(a, 1, "done")) {
		t.Error("it was over")
	}
}

// A worker that says up to where it has taken does not look below.
func TestSince(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	id := scan[int64](t, conn, `SELECT conch.job_add('q', 'work', priority => 0, run_at => now() - interval '1h')`)
	for _, c := range []struct {
		since time.Duration
		jobs  int
	}{{-30 * time.Minute, 0}, {-90 * time.Minute, 1}} {
		got, err := s.Take(t.Context(), worker, []string{"q", "other"}, schedule.Take{Most: 1, Since: time.Now().Add(c.since)})
		if err != nil || len(got.Jobs) != c.jobs {
			t.Errorf("from %s on: %+v, %v", c.since, got, err)
		}
	}
	tell(t, s, of(id, 1, "later"))
	scan[int64](t, conn, `SELECT conch.job_add('q', 'work', run_at => now() + interval '1h')`)
	if got, err := s.Take(t.Context(), worker, []string{"other"}, schedule.Take{Most: 1}); err != nil || got.Next < 50*time.Minute || got.Next > time.Hour {
		t.Errorf("the next one comes in %s, %v", got.Next, err)
	}
}

// A job that has waited for its lane, or for its time while nobody took any, was due before what a worker looks at: it is told of, and comes with the take that finds it.
func TestWhatWasDueLongAgo(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	first := scan[int64](t, conn, `SELECT conch.job_add('q', 'work', lane => 'a')`)
	take(t, s, 1, first)
	heir := scan[int64](t, conn, `SELECT conch.job_add('q', 'work', lane => 'a', run_at => now() - interval '2h', priority => 0)`)
	delayed := scan[int64](t, conn, `SELECT conch.job_add('q', 'work', run_at => now() + interval '1h', priority => 0)`)
	heard, up := make(chan time.Time, 9), make(chan bool, 9)
	listening, stop := context.WithCancel(t.Context())
	defer stop()
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	group.Go(func() {
		_ = s.ListenJobs(listening, func(queue string, since time.Time) {
			if queue == "" {
				up <- true
			} else {
				heard <- since
			}
		})
	})
	<-up
	tell(t, s, of(first, 1, "done"))
	select {
	case since := <-heard:
		if ago := time.Since(since); ago < 119*time.Minute || ago > 121*time.Minute {
			t.Errorf("what was due two hours ago is told as due at %s", since)
		}
	case <-time.After(patience):
		t.Fatal("nobody is told of a job whose lane is free")
	}
	for _, c := range []struct {
		from time.Duration
		want []int64
	}{{-time.Hour, nil}, {-3 * time.Hour, []int64{heir}}} {
		got, err := s.Take(t.Context(), worker, []string{"q"}, schedule.Take{Most: 5, Since: time.Now().Add(c.from)})
		if ids := idsOf(got); err != nil || !slices.Equal(ids, c.want) {
			t.Errorf("from %s on: %v, %v", c.from, ids, err)
		}
	}
	run(t, conn, `UPDATE conch.job_later SET run_at = now() - interval '2h'`)
	if got, err := s.Take(t.Context(), worker, []string{"q"}, schedule.Take{Most: 5, Since: time.Now().Add(-time.Minute)}); err != nil || !slices.Equal(idsOf(got), []int64{delayed}) {
		t.Errorf("what has just come is %v, %v", idsOf(got), err)
	}
}

func idsOf(got schedule.Taken) (ids []int64) {
	for _, j := range got.Jobs {
		ids = append(ids, j.ID)
	}
	return ids
}

// F13: a worker leaves alone what it does not call, and what does not prove its attempt while it may take nothing else.
func TestWhatAWorkerLeavesAlone(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	add := func(handler string, fenced bool) int64 {
		t.Helper()
		return scan[int64](t, conn, `
			WITH j AS (INSERT INTO conch.jobs (queue, handler, args, priority, retries, timeout, fenced) VALUES ('q', $1, '{}', 0, 1, '1h', $2) RETURNING id)
			SELECT id FROM j, LATERAL (SELECT conch.job_start(id, 1, now(), NULL)) s`, handler, fenced)
	}
	job, command, address, fenced := add(`{"job": "a"}`, false), add(`{"command": ["a"]}`, false), add(`{"http": "https://a/"}`, false), add(`{"job": "a"}`, true)
	for _, c := range []struct {
		take schedule.Take
		want []int64
	}{
		{schedule.Take{Most: 9, Kinds: []string{}}, nil},
		{schedule.Take{Most: 9, Kinds: []string{"command", "http"}, Fenced: true}, nil},
		{schedule.Take{Most: 9, Kinds: []string{"job"}, Fenced: true}, []int64{fenced}},
		{schedule.Take{Most: 1, Kinds: []string{"http"}}, []int64{address}},
		{schedule.Take{Most: 9, Kinds: []string{"command"}}, []int64{command}},
		{schedule.Take{Most: 9, Kinds: []string{"job"}}, []int64{job}},
	} {
		got, err := s.Take(t.Context(), worker, []string{"q"}, c.take)
		var ids []int64
		for _, j := range got.Jobs {
			ids = append(ids, j.ID)
			if j.Fenced != (j.ID == fenced) {
				t.Errorf("job %d is fenced: %t", j.ID, j.Fenced)
			}
		}
		if err != nil || !slices.Equal(ids, c.want) {
			t.Errorf("%+v takes %v, %v; want %v", c.take, ids, err, c.want)
		}
	}
	e := of(fenced, 1, "failed")
	e.Pause = time.Nanosecond
	tell(t, s, e)
	pgtest.Eventually(t, patience, "it is taken again", func() bool {
		got, err := s.Take(t.Context(), worker, []string{"q"}, schedule.Take{Most: 1, Kinds: []string{"job"}, Fenced: true})
		return err == nil && len(got.Jobs) == 1
	})
}

// A pause holds for a take whose transaction had begun before the attempt ended: only what a clock has said that was ahead is over.
func TestAPauseIsOlderThanATake(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s, conn, other := open(t, db.Config()), db.Connect(t), db.Connect(t)
	id := scan[int64](t, conn, `SELECT conch.job_add('q', 'work')`)
	take(t, s, 1, id)
	run(t, other, `BEGIN`)
	scan[time.Time](t, other, `SELECT now()`)
	e := of(id, 1, "failed")
	e.Pause = time.Hour
	tell(t, s, e)
	if n := scan[int](t, other, `SELECT count(*) FROM conch.job_take('{q}', 'worker/2', 1, 1)`); n != 0 {
		t.Error("it is taken without its pause")
	}
	run(t, other, `COMMIT`)
}

// F13, S29: a program adds jobs, proves an attempt and ends it in transactions of its own, by three functions and no right beyond them.
func TestAProgramNeedsThreeFunctions(t *testing.T) {
	t.Parallel()
	c := pgtest.Cast{DB: pgtest.New(t)}
	c.Fence = c.Name + "_fence"
	s, admin := open(t, c.Config()), c.Connect(t)
	run(t, admin, `REVOKE ALL ON ALL FUNCTIONS IN SCHEMA conch FROM PUBLIC`)
	run(t, admin, `CREATE ROLE `+c.Fence+` LOGIN; GRANT USAGE ON SCHEMA conch TO `+c.Fence)
	for _, function := range []string{
		`job_add(text, text, json, timestamptz, int, text, text, int, interval, boolean)`, `job_hold(bigint, int)`, `job_done(bigint, int, json)`,
	} {
		run(t, admin, `GRANT EXECUTE ON FUNCTION conch.`+function+` TO `+c.Fence)
	}
	program := pgtest.Connect(t, pg.Config{URL: c.As(t, c.Fence)})
	first := scan[int64](t, program, `SELECT conch.job_add('q', 'work', lane => 'a', key => 'k')`)
	second := scan[int64](t, program, `SELECT conch.job_add('q', 'work', lane => 'a', run_at => now() + interval '1h')`)
	if by := scan[string](t, admin, `SELECT by FROM conch.jobs WHERE id = $1`, first); by != c.Fence {
		t.Errorf("the job is by %s", by)
	}
	take(t, s, 9, first)
	run(t, program, `BEGIN; SELECT conch.job_hold(1, 1); COMMIT`)
	run(t, program, `BEGIN; SELECT conch.job_done(1, 1); COMMIT`)
	if n := scan[int64](t, admin, `SELECT job FROM conch.job_later`); n != second {
		t.Errorf("job %d comes later, want %d", n, second)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, sql := range []string{`SELECT FROM conch.jobs`, `SELECT conch.job_start(1, 2, now(), NULL)`, `SELECT conch.job_cancel(2, '')`} {
		if _, err := program.Exec(ctx, sql); !refused(err, "42501") {
			t.Errorf("it may %s: %v", sql, err)
		}
	}
}
