package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/schedule"
	"github.com/conchhq/conch/schedule/internal/core"
	"github.com/conchhq/conch/schedule/pgstore"
)

// Each condition of the statements is here by what goes wrong without it.

// The job of a scheduled time is what the cron says, of the leader that has added it, and begins when the leader says.
func TestTheJobOfACron(t *testing.T) {
	t.Parallel()
	for overlap, lane := range map[string]string{schedule.Skip: "cron:tick", schedule.Allow: "none"} {
		d := newDesk(t)
		c := cron("tick", overlap)
		c.Queue, c.Args, c.Priority, c.Retries, c.Timeout = "mail", `{"to": 1}`, 2, 7, 90*time.Second
		first := d.adopt(d.declare(1, c)[0])
		d.write(first)
		next := d.after(first, 1, 1)
		next.Runs[0].Begins = d.base.Add(3 * time.Hour)
		d.write(next)
		got := scan[string](t, d.conn, `SELECT concat_ws(' ', queue, handler, args, priority, retries, timeout, coalesce(lane, 'none'), cron, at = $1, scope, epoch) FROM conch.jobs`, next.Runs[0].At)
		if want := fmt.Sprintf(`mail {"job": "work"} {"to": 1} 2 7 00:01:30 %s %d t scheduler 1`, lane, first.Cron); got != want {
			t.Errorf("%s: the job is %s\nwant %s", overlap, got, want)
		}
		if at := scan[time.Time](t, d.conn, `SELECT run_at FROM conch.job_later`); !at.Equal(next.Runs[0].Begins) {
			t.Errorf("%s: it begins at %s", overlap, at)
		}
	}
}

// A job that comes later keeps its turn and its priority: it is due when it could begin, and when it was to begin by a clock that was ahead, now.
func TestALaterJobHasItsTurn(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	if got := scan[string](t, conn, `SELECT string_agg(conch.job_wait(p)::text, ' ' ORDER BY p) FROM generate_series(0, 3) p`); got != "00:00:00 00:01:00 00:05:00 00:30:00" {
		t.Errorf("the priorities are %s", got)
	}
	ids := scan[[]int64](t, conn, `SELECT array_agg(conch.job_add('q', 'work', priority => p, run_at => now() + interval '1d')) FROM generate_series(0, 3) p`)
	if scan[int](t, conn, `SELECT count(made_at) FROM conch.job_later`) != 0 {
		t.Error("an instant that was asked for counts as a delay")
	}
	run(t, conn, `UPDATE conch.job_later SET run_at = date_trunc('day', now()) - interval '1d'`)
	take(t, s, 0)
	if n := scan[int](t, conn, `SELECT count(*) FROM conch.job_ready r JOIN conch.jobs j ON j.id = r.job WHERE r.due = date_trunc('day', now()) - interval '1d' + conch.job_wait(j.priority)`); n != 4 {
		t.Errorf("%d of four jobs have kept their turn", n)
	}
	take(t, s, 4, ids...)
	e := of(ids[3], 1, "failed")
	e.Pause = 2 * time.Hour
	tell(t, s, e)
	if n := scan[int](t, conn, `SELECT count(*) FROM conch.job_later WHERE made_at <= now() AND run_at > now() + interval '119min' AND run_at <= now() + interval '2h'`); n != 1 {
		t.Error("the delay is not that which was asked for, or it does not say when it was made")
	}
	run(t, conn, `UPDATE conch.job_later SET made_at = now() + interval '1h'`)
	take(t, s, 0)
	if n := scan[int](t, conn, `SELECT count(*) FROM conch.job_ready WHERE due <= now() + interval '30min'`); n != 1 {
		t.Error("a delay that was made while the clock was ahead has it wait until then")
	}
}

// As many jobs are taken as a worker has asked for, the first ones first, and they are its own.
func TestAsManyAsAsked(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	ids := scan[[]int64](t, conn, `SELECT array_agg(conch.job_add('q', 'work')) FROM generate_series(1, 20)`)
	take(t, s, 7, ids[:7]...)
	take(t, s, 3, ids[7:10]...)
	if got := scan[string](t, conn, `SELECT string_agg(DISTINCT post || ' ' || epoch, ', ') FROM conch.job_taken`); got != "worker/1 1" {
		t.Errorf("they are those of %s", got)
	}
}

// An attempt says who has made it, when, and how it has ended; what it says of why has a limit.
func TestWhatAnAttemptSays(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	id := scan[int64](t, conn, `SELECT conch.job_add('q', 'work', retries => 0)`)
	take(t, s, 1, id)
	run(t, conn, `UPDATE conch.job_taken SET at = '2026-01-01'`)
	e := of(id, 1, "lost")
	e.Error = strings.Repeat("x", 10_000)
	tell(t, s, e)
	if n := scan[int](t, conn, `SELECT count(*) FROM conch.job_attempts WHERE outcome = 'lost' AND post = 'worker/1' AND began = '2026-01-01' AND ended > now() - interval '1h' AND length(error) = 8192`); n != 1 {
		t.Errorf("it says %s", scan[string](t, conn, `SELECT concat_ws(' ', outcome, post, began, ended, length(error)) FROM conch.job_attempts`))
	}
	if n := scan[int](t, conn, `SELECT length(why) FROM conch.job_dead`); n != 8192 {
		t.Errorf("it is dead for a reason of %d letters", n)
	}
	id = scan[int64](t, conn, `SELECT conch.job_add('q', 'work')`)
	take(t, s, 1, id)
	e = of(id, 1, "done")
	e.Result = []byte(`"` + strings.Repeat("x", 70_000) + `"`)
	if _, err := s.Tell(t.Context(), []schedule.End{e}); !refused(err, "23514") {
		t.Errorf("a result without limit: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, function := range []string{"job_hold", "job_done"} {
		if _, err := conn.Exec(ctx, `SELECT conch.`+function+`($1, 2)`, id); !refused(err, "CN021") {
			t.Errorf("%s of another attempt than the one that goes on: %v", function, err)
		}
	}
	run(t, conn, `SELECT conch.job_done($1, 1)`, id)
	if post := scan[string](t, conn, `SELECT post FROM conch.job_attempts WHERE job = $1 AND outcome = 'done'`, id); post != "worker/1" {
		t.Errorf("it was done by %q", post)
	}
}

// A job of a lane that is to begin later does, also if it has waited for the lane.
func TestALaneThatBeginsLater(t *testing.T) {
	t.Parallel()
	_, conn := opened(t)
	one := scan[int64](t, conn, `SELECT conch.job_add('q', 'work', lane => 'a', run_at => '2100-01-01')`)
	two := scan[int64](t, conn, `SELECT conch.job_add('q', 'work', lane => 'a', run_at => '2100-01-02')`)
	later := func(want string) {
		t.Helper()
		if got := scan[string](t, conn, `SELECT string_agg(job || ' ' || run_at::date, ', ') FROM conch.job_later`); got != want {
			t.Errorf("later come %s, want %s", got, want)
		}
	}
	later(fmt.Sprint(one, " 2100-01-01"))
	run(t, conn, `DELETE FROM conch.job_later`)
	run(t, conn, `SELECT conch.job_leave($1)`, one)
	later(fmt.Sprint(two, " 2100-01-02"))
}

// A dead job that is retried has as many attempts as before. It takes its lane, or waits for it as all that died with it; its key is another's by then.
func TestDeadJobsComeBack(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	var ids []int64
	for n := range 3 {
		ids = append(ids, scan[int64](t, conn, `SELECT conch.job_add('q', 'work', retries => 1, lane => 'a', key => $1)`, fmt.Sprint("k", n)))
	}
	for _, id := range ids {
		take(t, s, 9, id)
		tell(t, s, of(id, 1, "dead"))
	}
	again := scan[int64](t, conn, `SELECT conch.job_add('other', 'work', key => 'k0')`)
	if done, err := s.Operate(t.Context(), pgstore.Operation{ID: [16]byte{1}, Kind: pgstore.Retry}); err != nil || done != 3 {
		t.Fatalf("%d were retried, %v", done, err)
	}
	if n := scan[int](t, conn, `SELECT count(*) FROM conch.job_waiting WHERE attempt = 2`); n != 2 {
		t.Errorf("%d wait for their lane", n)
	}
	for i, id := range ids {
		if all := take(t, s, 9, id); len(all) != 1 || all[0].Attempt != 2 {
			t.Fatalf("taken are %+v", all)
		}
		if i == 0 { // this one dies again, after as many attempts
			tell(t, s, of(id, 2, "failed"))
			take(t, s, 9, id)
			tell(t, s, of(id, 3, "failed"))
		} else {
			tell(t, s, of(id, 2, "done"))
		}
	}
	if n := scan[int](t, conn, `SELECT count(*) FROM conch.job_dead WHERE job = $1 AND attempt = 3`, ids[0]); n != 1 {
		t.Error("the first one is not dead")
	}
	if spares := scan[string](t, conn, `SELECT string_agg(spare::text, ' ' ORDER BY attempt) FROM conch.job_attempts WHERE job = $1`, ids[0]); spares != "0 1 0" {
		t.Errorf("after its attempts %s were left, want 0, and then 1 and 0", spares)
	}
	if holder := scan[int64](t, conn, `SELECT conch.job_add('other', 'work', key => 'k0')`); holder != again {
		t.Errorf("the key of job %d is that of %d", again, holder)
	}
}

// An operation has the dead jobs of its queue, of the time when it began. What has died since is for the next one.
func TestWhichDeadJobs(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	operates := func(n byte, queue string, want int64) {
		t.Helper()
		if done, err := s.Operate(t.Context(), pgstore.Operation{ID: [16]byte{n}, Kind: pgstore.Retry, Queue: queue}); err != nil || done != want {
			t.Errorf("operation %d has %d jobs, %v; want %d", n, done, err, want)
		}
	}
	kill(t, conn, 2)
	run(t, conn, `INSERT INTO conch.job_operations (id, kind, cut_off) VALUES ($1, 'retry', now() - interval '1h')`, [16]byte{1})
	operates(1, "", 0)
	operates(2, "other", 0)
	operates(3, "q", 2)
	die(t, conn, 9)
	operates(3, "q", 2)
	operates(4, "q", 2)
	run(t, conn, `INSERT INTO conch.job_operations (id, kind) VALUES ($1, 'retry')`, [16]byte{5})
	kill(t, conn, 3)
	operates(5, "", 0)
}

// Those who wait hear of a job, and of a cron that has changed.
func TestWhoHearsOfIt(t *testing.T) {
	t.Parallel()
	_, conn := opened(t)
	run(t, conn, `LISTEN conch_job`)
	run(t, conn, `LISTEN conch_cron`)
	id := scan[int64](t, conn, `SELECT conch.cron_revise('tick', '{}', false, false)`)
	scan[int64](t, conn, `SELECT conch.job_add('mail', 'work', priority => 0, run_at => '2026-11-27 03:00:00.9Z')`)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var got []string
	for range 2 {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, n.Channel+" "+n.Payload)
	}
	if want := []string{fmt.Sprint("conch_cron ", id), "conch_job 1795748400 mail"}; !slices.Equal(got, want) {
		t.Errorf("they hear %v, want %v", got, want)
	}
}

// A cron that a user has made is the file's from when a file names it, otherwise than it is: a file without it retires it then.
func TestAFileTakesACronOver(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	own, err := pgstore.AsJSON(schedule.Config{Crons: []schedule.Cron{cron("mine", schedule.Allow)}}.WithDefaults().Crons[0])
	if err != nil {
		t.Fatal(err)
	}
	scan[int64](t, d.conn, `SELECT conch.cron_revise('mine', $1, false, false)`, own)
	d.declare(1, cron("other", schedule.Skip))
	filed := func() string {
		return scan[string](t, d.conn, `SELECT string_agg(name || ' ' || filed || ' ' || retired, ', ' ORDER BY id) FROM conch.crons`)
	}
	if got := filed(); got != "mine false false, other true false" {
		t.Errorf("there are %s", got)
	}
	d.declare(2, cron("mine", schedule.Skip))
	d.declare(3, cron("other", schedule.Queue))
	if got := filed(); got != "mine true true, other true true, other true false" {
		t.Errorf("there are %s", got)
	}
}

// held runs a statement in a transaction that stays open, and returns what ends that.
func held(t *testing.T, conn *pgx.Conn, sql string, args ...any) (commit func()) {
	t.Helper()
	run(t, conn, `BEGIN`)
	run(t, conn, sql, args...)
	return func() { t.Helper(); run(t, conn, `COMMIT`) }
}

// waitsUntil begins something that has to wait for a transaction, and says when it has ended after that.
func waitsUntil(t *testing.T, conn *pgx.Conn, commit func(), do func() error) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- do() }()
	pgtest.Eventually(t, patience, "that it waits", func() bool {
		return scan[int](t, conn, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) == 1 || len(done) > 0
	})
	if len(done) > 0 {
		t.Error("it does not wait")
	}
	commit()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A job that waits for a lane in a transaction that is not over is seen by the end of the one that has it; a job whose key another transaction was
// told of ends after that; and an operation is carried on by one command at a time.
func TestOneWaitsForAnother(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s, conn, other := open(t, db.Config()), db.Connect(t), db.Connect(t)
	ends := func(id int64) func() error {
		return func() error {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			_, err := other.Exec(ctx, `SELECT conch.job_done($1, 1)`, id)
			return err
		}
	}
	first := scan[int64](t, conn, `SELECT conch.job_add('q', 'work', lane => 'a', key => 'k')`)
	take(t, s, 9, first)
	waitsUntil(t, conn, held(t, conn, `SELECT conch.job_add('q', 'work', lane => 'a')`), ends(first))
	second := take(t, s, 9, first+1)
	if len(second) != 1 {
		t.Fatal("it waits for ever")
	}
	again := scan[int64](t, conn, `SELECT conch.job_add('q', 'work', key => 'k')`)
	take(t, s, 9, again)
	waitsUntil(t, conn, held(t, conn, `SELECT conch.job_add('q', 'work', key => 'k')`), ends(again))
	kill(t, conn, 2)
	id := [16]byte{1}
	run(t, conn, `INSERT INTO conch.job_operations (id, kind) VALUES ($1, 'retry')`, id)
	held(t, conn, `SELECT conch.dead_step($1, 9)`, id)
	dies := func() { t.Helper(); run(t, conn, `ROLLBACK`) }
	waitsUntil(t, conn, dies, func() error {
		n, err := s.Resume(t.Context(), id) // to begin it once more would wait for its row already
		if n != 2 {
			t.Errorf("it had %d jobs", n)
		}
		return err
	})
}

// Workers do not wait for each other, neither for what is ready nor for what becomes so.
func TestWorkersDoNotWait(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	ids := scan[[]int64](t, conn, `SELECT array_agg(conch.job_add('q', 'work')) FROM generate_series(1, 2)`)
	ids = append(ids, scan[[]int64](t, conn, `SELECT array_agg(conch.job_add('q', 'work', run_at => now() + interval '1d')) FROM generate_series(1, 2)`)...)
	commit := held(t, conn, `SELECT FROM conch.job_take('{q}', 'worker/2', 1, 1)`)
	take(t, s, 1, ids[1])
	commit()
	run(t, conn, `UPDATE conch.job_later SET run_at = now() - interval '1h'`)
	commit = held(t, conn, `SELECT FROM conch.job_later WHERE job = $1 FOR UPDATE`, ids[2])
	take(t, s, 1, ids[3])
	commit()
	take(t, s, 9, ids[2])
	ids = scan[[]int64](t, conn, `SELECT array_agg(conch.job_add('q', 'work', run_at => now() + interval '1d')) FROM generate_series(1, 2)`)
	run(t, conn, `UPDATE conch.job_later SET made_at = now() + interval '1h'`)
	commit = held(t, conn, `SELECT FROM conch.job_later WHERE job = $1 FOR UPDATE`, ids[0])
	take(t, s, 9, ids[1])
	commit()
	take(t, s, 9, ids[0])
}

// A leader that is deposed hears so, also where somebody holds the lane of one of its crons.
func TestAStaleLeaderBesideALockedLane(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	d := &desk{t: t, s: open(t, db.Config()), conn: db.Connect(t), base: time.Now().UTC().Truncate(time.Second).Add(-time.Hour)}
	all := d.declare(1, cron("held", schedule.Skip), cron("free", schedule.Skip))
	moves := []core.Move{d.adopt(all[0]), d.adopt(all[1])}
	d.write(moves...)
	d.write(d.after(moves[0], 1, 1))
	commit := held(t, db.Connect(t), `SELECT FROM conch.job_lanes FOR UPDATE`)
	run(t, d.conn, `UPDATE public.minted SET epoch = 2`)
	next := schedule.Write{Moves: []core.Move{d.after(d.after(moves[0], 1, 1), 1, 2), d.after(moves[1], 1, 1)}}
	if _, err := d.s.Write(t.Context(), leader, next); !errors.Is(err, fence.ErrStale) {
		t.Errorf("got %v", err)
	}
	commit()
}

// A leader reads the crons that it asks for, those that are new to it, and those with a revision to adopt.
func TestWhatIsRead(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	all := d.declare(1, cron("a", schedule.Allow), cron("b", schedule.Allow), cron("c", schedule.Allow))
	d.write(d.adopt(all[0]), d.adopt(all[1]))
	for what, c := range map[string]struct {
		read schedule.Read
		want string
	}{
		"asked for": {schedule.Read{Known: all[2].ID, Crons: []int64{all[0].ID}}, "a c"},
		"new":       {schedule.Read{Known: all[0].ID}, "b c"},
		"to adopt":  {schedule.Read{Known: all[2].ID}, "c"},
	} {
		l, err := d.s.Read(t.Context(), c.read)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, one := range l.Crons {
			names = append(names, one.Name)
		}
		if got := strings.Join(names, " "); got != c.want || l.At.IsZero() {
			t.Errorf("%s: %s is read at %s", what, got, l.At)
		}
	}
	d.write(d.adopt(all[2]))
	if l, err := d.s.Read(t.Context(), schedule.Read{Known: all[2].ID}); err != nil || len(l.Crons) != 0 || l.At.IsZero() {
		t.Errorf("where nothing is to be read: %+v, %v", l, err)
	}
}
