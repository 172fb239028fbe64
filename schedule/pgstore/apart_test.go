package pgstore_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/schedule"
	"github.com/conchhq/conch/schedule/internal/core"
)

// added adds a job of a lane, and returns its id.
func added(t *testing.T, d *desk, args string) int64 {
	t.Helper()
	return scan[int64](t, d.conn, `SELECT conch.job_add('q', 'work'`+args+`)`)
}

// F13: what is done with one job is done with no other: neither its end, nor its cancel, nor its proof.
func TestOneJobAtATime(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var ids []int64
	for range 3 {
		ids = append(ids, added(t, d, ``))
	}
	take(t, d.s, 9, ids...)
	idle := added(t, d, `, run_at => now() + interval '1d'`)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, function := range []string{"job_hold", "job_done"} {
		if _, err := d.conn.Exec(ctx, `SELECT conch.`+function+`($1, 1)`, idle); !refused(err, "CN021") {
			t.Errorf("%s of a job that is not at work: %v", function, err)
		}
	}
	run(t, d.conn, `SELECT conch.job_done($1, 1)`, ids[0])
	taken := func(want ...int64) {
		t.Helper()
		held, err := d.s.Look(t.Context(), worker.Scope, nil)
		if err != nil || len(held) != len(want) {
			t.Fatalf("taken are %+v, %v; want %v", held, err, want)
		}
		for i, h := range held {
			if h.ID != want[i] || h.Cancel {
				t.Errorf("taken is %+v, want %d", h, want[i])
			}
		}
	}
	taken(ids[1:]...)
	lanes := []int64{added(t, d, `, lane => 'a'`), added(t, d, `, lane => 'a'`), added(t, d, `, lane => 'a'`)}
	ready, later := []int64{added(t, d, ``), added(t, d, ``)}, added(t, d, `, run_at => now() + interval '1d'`)
	for _, id := range []int64{lanes[1], ready[0], later, ids[2]} {
		run(t, d.conn, `SELECT conch.job_cancel($1, 'not wanted')`, id)
	}
	if !tell(t, d.s, of(ids[2], 1, "done")) {
		t.Error("what was done although somebody cancelled it is over")
	}
	if got := scan[string](t, d.conn, `SELECT outcome FROM conch.job_attempts WHERE job = $1`, ids[2]); got != "done" {
		t.Errorf("what was done although somebody cancelled it is %s", got)
	}
	taken(ids[1])
	take(t, d.s, 9, lanes[0], ready[1])
	tell(t, d.s, of(lanes[0], 1, "done"))
	take(t, d.s, 9, lanes[2])
	if n := scan[int](t, d.conn, `SELECT count(*) FROM conch.job_later WHERE job = $1`, idle); n != 1 {
		t.Error("another job that comes later is gone")
	}
}

// F13: what a worker tells at once is of the attempts that it names: each has its own outcome, and one that is over says nothing of the next one.
func TestEachEndIsItsOwn(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	a, b, c := added(t, d, `, retries => 3`), added(t, d, `, retries => 1`), added(t, d, ``)
	take(t, d.s, 9, a, b, c)
	out, err := d.s.Tell(t.Context(), []schedule.End{of(a, 1, "failed"), of(b, 1, "failed")})
	if err != nil || len(out.Over)+len(out.Held) > 0 {
		t.Fatalf("got %+v, %v", out, err)
	}
	take(t, d.s, 9, a, b)
	out, err = d.s.Tell(t.Context(), []schedule.End{of(a, 1, "lost"), of(a, 2, "failed"), of(b, 2, "failed"), of(b, 1, "lost"), of(c, 1, "done")})
	if err != nil || len(out.Held) > 0 || len(out.Over) != 2 || out.Over[0].Attempt != 1 || out.Over[1].Attempt != 1 {
		t.Errorf("got %+v, %v", out, err)
	}
	if got := scan[string](t, d.conn, `SELECT string_agg(concat_ws(' ', job, attempt, outcome), ', ' ORDER BY job, attempt) FROM conch.job_attempts`); got != "1 1 failed, 1 2 failed, 2 1 failed, 2 2 failed, 3 1 done" {
		t.Errorf("the attempts are %s", got)
	}
	if dead := scan[int64](t, d.conn, `SELECT job FROM conch.job_dead`); dead != b {
		t.Errorf("job %d is dead", dead)
	}
	take(t, d.s, 9, a) // it has two to go, whatever the other one has
	run(t, d.conn, `SELECT conch.job_cancel($1, 'not wanted')`, a)
	tell(t, d.s, of(a, 3, "later"))
	e := added(t, d, ``)
	take(t, d.s, 9, e)
	again := of(e, 1, "failed")
	again.Pause = time.Hour
	tell(t, d.s, again)
	run(t, d.conn, `SELECT conch.job_cancel($1, 'not wanted')`, e)
	if got := scan[string](t, d.conn, `SELECT string_agg(attempt || outcome, ' ' ORDER BY attempt) FROM conch.job_attempts WHERE job = $1`, e); got != "1failed 2cancelled" {
		t.Errorf("the attempts are %s", got)
	}
	if held, err := d.s.Look(t.Context(), worker.Scope, nil); err != nil || len(held) != 0 {
		t.Errorf("taken are %+v, %v", held, err)
	}
}

// F13: the end of a job lets its own lane go, and no other.
func TestLanesAreApart(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	a, b := added(t, d, `, lane => 'a'`), added(t, d, `, lane => 'b'`)
	a2, b2 := added(t, d, `, lane => 'a'`), added(t, d, `, lane => 'b'`)
	take(t, d.s, 9, a, b)
	tell(t, d.s, of(b, 1, "done"))
	take(t, d.s, 9, b2)
	tell(t, d.s, of(b2, 1, "done"))
	a3 := added(t, d, `, lane => 'a'`)
	take(t, d.s, 9)
	for i, id := range []int64{a, a2, a3} {
		if tell(t, d.s, of(id, 1, "done")); i < 2 {
			take(t, d.s, 9, []int64{a2, a3}[i])
		}
	}
}

// F12: how many times of a cron wait is counted in its own lane.
func TestACronCountsItsOwn(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	all := d.declare(1, cron("a", schedule.Queue), cron("b", schedule.Queue))
	var moves []schedule.Written
	for _, c := range all {
		first := d.adopt(c)
		d.write(first)
		moves = append(moves, d.write(d.after(first, 1, 1, 2, 3)))
	}
	for i, m := range moves {
		for _, e := range m.Ends {
			if e.Outcome != "enqueued" {
				t.Errorf("cron %d: a time is %s", i, e.Outcome)
			}
		}
	}
}

// F12: of crons that are written at once one that has moved elsewhere holds up no other: each of the others has its rows, its jobs and its own answers, and a time
// that is skipped names the job that holds its own lane.
func TestOneCronHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	first := added(t, d, `, lane => 'a'`)
	all := d.declare(1, cron("busy", schedule.Skip), cron("free", schedule.Allow), cron("moved", schedule.Allow))
	busy, free, moved := d.adopt(all[0]), d.adopt(all[1]), d.adopt(all[2])
	d.write(busy, free, moved)
	if out := ends(d.write(d.after(busy, 1, 1))); out != "enqueued 2" {
		t.Errorf("its first time is %s", out)
	}
	next, elsewhere := d.after(d.after(busy, 1, 1), 1, 2), d.after(moved, 1, 2)
	elsewhere.Was.Newest = 9
	out := d.write(next, d.after(free, 1, 2), elsewhere)
	if got, want := ends(out), "skipped 2, enqueued"; len(out.Moved) != 2 || len(out.Ends) != 2 || !strings.HasPrefix(got, want) {
		t.Errorf("they have moved: %v, and their times are %s; want %s", out.Moved, got, want)
	}
	if got, want := scan[string](t, d.conn, `SELECT string_agg(concat_ws(' ', c.name, r.outcome, r.job), ', ' ORDER BY c.name, r.at)
		FROM conch.cron_runs r JOIN conch.crons c ON c.id = r.cron`), "busy enqueued 2, busy skipped 2, free enqueued"; !strings.HasPrefix(got, want) {
		t.Errorf("the rows are %s, want %s", got, want)
	}
	if out := d.write(d.after(d.after(free, 1, 2), 1, 3), elsewhere); len(out.Moved) != 1 || len(out.Ends) != 1 || out.Ends[0].Outcome != core.Enqueued {
		t.Errorf("they have moved: %v, and their times are %s", out.Moved, ends(out))
	}
	if n := scan[int](t, d.conn, `SELECT count(*) FROM conch.jobs j JOIN conch.crons c ON c.id = j.cron WHERE c.name = 'free'`); n != 2 || first != 1 {
		t.Errorf("%d jobs were added", n)
	}
}

// F12: an adoption sets the instant of its own revision, and a move that adopts none leaves the one that is in force.
func TestARevisionIsItsOwn(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	first := d.adopt(d.declare(1, cron("a", schedule.Skip))[0])
	d.write(first)
	c := cron("a", schedule.Skip)
	c.Retries = 7
	d.declare(2, c)
	second := core.Move{Cron: first.Cron, Was: core.Position{Cursor: first.To, Adopted: 1, Newest: 2}, To: core.Cursor{At: d.base.Add(time.Minute)}, Adopt: 2, Since: d.base.Add(time.Minute)}
	d.write(second)
	gap := core.Move{
		Cron: first.Cron, Was: core.Position{Cursor: second.To, Adopted: 2, Newest: 2}, To: core.Cursor{At: d.base.Add(2 * time.Minute)},
		Gap: &core.Gap{From: d.base.Add(61 * time.Second), To: d.base.Add(2 * time.Minute), Count: 1, Why: core.WhyPaused},
	}
	d.write(gap)
	if got := d.read(first.Cron).Crons[0]; got.Adopted != 2 || !got.Position.Cursor.At.Equal(gap.To.At) || scan[int](t, d.conn, `SELECT count(*) FROM conch.cron_gaps`) != 1 {
		t.Errorf("it stands at %+v", got.Position)
	}
	if got := scan[[]time.Time](t, d.conn, `SELECT array_agg(since ORDER BY n) FROM conch.cron_revisions`); !got[0].Equal(d.base) || !got[1].Equal(second.Since) {
		t.Errorf("they are in force from %v on", got)
	}
	if out := d.write(d.after(gap, 2, 3, 4)); len(out.Ends) != 2 || out.Ends[1].Outcome != core.Skipped || scan[string](t, d.conn, `SELECT string_agg(retries::text, ' ') FROM conch.jobs`) != "7" {
		t.Errorf("two times are %s", ends(out))
	}
}

// A worker that says up to where it has taken looks at what was due right then, too.
func TestSinceThen(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ids := []int64{added(t, d, `, run_at => '2026-01-01 00:00Z', priority => 0`), added(t, d, `, run_at => '2026-01-01 00:00Z', priority => 0`)}
	for _, id := range ids {
		got, err := d.s.Take(t.Context(), worker, []string{"q"}, schedule.Take{Most: 1, Since: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
		if err != nil || len(got.Jobs) != 1 || got.Jobs[0].ID != id {
			t.Errorf("took %+v, %v; want %d", got, err, id)
		}
	}
}

// F13: what a transaction does to a job, a lane, a key or a cron, and ends while another one waits for it, is seen by that one.
func TestWhatEndsMeanwhile(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s, conn, other := open(t, db.Config()), db.Connect(t), db.Connect(t)
	// meanwhile has one transaction lock, another one wait for it and then do what it was asked for.
	meanwhile := func(lock, end, waits string) (got *string) {
		t.Helper()
		run(t, conn, `BEGIN`)
		run(t, conn, lock)
		waitsUntil(t, conn, func() { t.Helper(); run(t, conn, end); run(t, conn, `COMMIT`) }, func() error {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			return other.QueryRow(ctx, waits).Scan(&got)
		})
		return got
	}
	is := func(what string, got *string, want string) {
		t.Helper()
		if got == nil || *got != want {
			t.Errorf("%s: got %v, want %s", what, got, want)
		}
	}
	first := scan[int64](t, conn, `SELECT conch.job_add('q', 'work', lane => 'a', key => 'k')`)
	take(t, s, 9, first)
	is("a key becomes free", meanwhile(`SELECT FROM conch.job_keys FOR UPDATE`, `SELECT conch.job_done(1, 1)`, `SELECT conch.job_add('q', 'work', key => 'k')::text`), "2")
	third := scan[int64](t, conn, `SELECT conch.job_add('q', 'work', lane => 'a')`)
	take(t, s, 9, 2, third)
	is("a lane becomes free", meanwhile(`SELECT FROM conch.job_lanes FOR UPDATE`, `SELECT conch.job_done(3, 1)`, `SELECT conch.job_add('q', 'work', lane => 'a')::text`), "4")
	is("a job is taken", meanwhile(`SELECT count(*) FROM conch.job_take('{q}', 'worker/1', 1, 1)`, `SELECT 1`, `SELECT conch.job_cancel(4, 'not wanted')`), "taken")
	is("a cron is made", meanwhile(`SELECT conch.cron_revise('tick', '{}', false, false)`, `SELECT 1`, `SELECT conch.cron_revise('tick', '{}', false, false)::text`), "1")
	if n := scan[int](t, conn, `SELECT newest FROM conch.crons`); n != 2 {
		t.Errorf("the newest revision is %d", n)
	}
}

// A worker that tells an end does not wait for a transaction that holds the attempt.
func TestAnEndDoesNotWait(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s, conn, other := open(t, db.Config()), db.Connect(t), db.Connect(t)
	take(t, s, 9, scan[int64](t, conn, `SELECT conch.job_add('q', 'work')`))
	commit := held(t, other, `SELECT conch.job_hold(1, 1)`)
	run(t, conn, `SET lock_timeout = '1s'`)
	if !scan[bool](t, conn, `SELECT held FROM conch.job_end('{1}', '{1}', '{lost}', '{no}', '{null}', '{0}')`) {
		t.Error("it is over")
	}
	commit()
}
