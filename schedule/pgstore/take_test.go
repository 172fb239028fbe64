package pgstore_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

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

// However many jobs there are, and whatever the server knows of that, jobs are added, taken, ended and retried by their keys: no table is read from end to end.
func TestNoTableOfJobsIsRead(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	const many = 300
	run(t, conn, `BEGIN`) // the statistics do not know what follows
	run(t, conn, `SELECT conch.job_add('q', 'work') FROM generate_series(1, $1)`, many)
	before := readWhole(t, conn)
	run(t, conn, `CREATE TEMP TABLE got ON COMMIT DROP AS SELECT job, attempt FROM conch.job_take('{q}', 'worker/1', 1, $1)`, many)
	run(t, conn, `SELECT conch.job_end(array_agg(job), array_agg(attempt), array_agg(CASE WHEN job % 2 = 0 THEN 'done' ELSE 'dead' END), array_agg('why'::text), array_agg(NULL::json), array_agg(0::float8)) FROM got`)
	if n := scan[int](t, conn, `SELECT count(*) FROM conch.job_dead`); n != many/2 {
		t.Errorf("%d are dead, want %d", n, many/2)
	}
	run(t, conn, `INSERT INTO conch.job_operations (id, kind) VALUES ('00000000-0000-0000-0000-000000000001', 'retry')`)
	if n := scan[int](t, conn, `SELECT conch.dead_step('00000000-0000-0000-0000-000000000001', 1000)`); n != many/2 {
		t.Errorf("%d are retried, want %d", n, many/2)
	}
	if after := readWhole(t, conn); after != before {
		t.Errorf("rows that were read: %s, and before %s", after, before)
	}
	run(t, conn, `COMMIT`)
	if got, err := s.Take(t.Context(), worker, []string{"q"}, schedule.Take{Most: many}); err != nil || len(got.Jobs) != many/2 || got.Jobs[0].Attempt != 2 {
		t.Errorf("took %d, %v", len(got.Jobs), err)
	}
}

// readWhole says how many rows of each table of jobs this transaction has read from end to end. What the test itself counts is not among them.
func readWhole(t *testing.T, conn *pgx.Conn) string {
	t.Helper()
	return scan[string](t, conn, `SELECT string_agg(relname || ' ' || seq_tup_read, ', ' ORDER BY relname) FROM pg_stat_xact_user_tables WHERE relname IN ('jobs', 'job_ready', 'job_taken', 'job_later', 'job_operated')`)
}

// A standby has what it needs first: connections that know the statements of a leader and of a worker. To rehearse them leaves nothing behind, and is not done twice.
func TestAStandbyIsReady(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s, conn, ears := open(t, db.Config()), db.Connect(t), db.Connect(t)
	run(t, ears, `LISTEN conch_job; LISTEN conch_cron`)
	later := added(t, &desk{t: t, s: s, conn: conn}, `, run_at => now() + interval '1d'`)
	if n := s.Warm(); n != 0 {
		t.Errorf("%d connections are ready before", n)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, _ = ears.WaitForNotification(ctx) // of the job
	for range 2 {
		if err := s.Rehearse(ctx); err != nil {
			t.Fatal(err)
		}
		if n := s.Warm(); n != 2 {
			t.Errorf("%d connections are ready, want one for the crons and one for a post", n)
		}
	}
	if got := scan[string](t, conn, `SELECT (SELECT string_agg(id::text, ' ') FROM conch.jobs) || ' ' || (SELECT count(*) FROM conch.job_ready) || (SELECT count(*) FROM conch.job_taken) || (SELECT count(*) FROM conch.job_attempts)`); got != fmt.Sprintf("%d 000", later) {
		t.Errorf("the rehearsal has left %q", got)
	}
	run(t, conn, `NOTIFY conch_job, 'the first'`)
	if heard, err := ears.WaitForNotification(ctx); err != nil || heard.Payload != "the first" {
		t.Errorf("the first notification is %v, %v; want the test's own", heard, err)
	}
}

// F13: no door takes a payload with NUL, of which Postgres could read nothing; one that writes of it in other words is none.
func TestNULIsRefused(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	for args, refuses := range map[string]bool{`"a\u0000b"`: true, `{"\u0000": 1}`: true, `"\\\u0000"`: true, `"\\u0000"`: false, `"\u0001"`: false} {
		err := exec(t, conn, `SELECT conch.job_add('q', 'work', $1)`, args)
		if got := refused(err, "23514"); got != refuses || got && !strings.Contains(err.Error(), "args have no NUL") || !refuses && err != nil {
			t.Errorf("args %s: %v", args, err)
		}
	}
	j := take(t, s, 1, scan[int64](t, conn, `SELECT min(id) FROM conch.jobs`))[0]
	if err := exec(t, conn, `SELECT conch.job_done($1, 1, '"\u0000"')`, j.ID); !refused(err, "23514") {
		t.Errorf("a result: %v", err)
	}
	run(t, conn, `SELECT conch.job_done($1, 1, '"\\u0000"')`, j.ID)
}

func exec(t *testing.T, conn *pgx.Conn, sql string, args ...any) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := conn.Exec(ctx, sql, args...)
	return err
}
