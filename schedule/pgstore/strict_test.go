package pgstore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/schedule"
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
	if err := s.Failed(t.Context(), ids[3], 1, pgstore.Failed, "no", 2*time.Hour, false); err != nil {
		t.Fatal(err)
	}
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
	if err := s.Failed(t.Context(), id, 1, pgstore.Lost, strings.Repeat("x", 10_000), 0, false); err != nil {
		t.Fatal(err)
	}
	if n := scan[int](t, conn, `SELECT count(*) FROM conch.job_attempts WHERE outcome = 'lost' AND post = 'worker/1' AND began = '2026-01-01' AND ended > now() - interval '1h' AND length(error) = 8192`); n != 1 {
		t.Errorf("it says %s", scan[string](t, conn, `SELECT concat_ws(' ', outcome, post, began, ended, length(error)) FROM conch.job_attempts`))
	}
	if n := scan[int](t, conn, `SELECT length(why) FROM conch.job_dead`); n != 8192 {
		t.Errorf("it is dead for a reason of %d letters", n)
	}
	id = scan[int64](t, conn, `SELECT conch.job_add('q', 'work')`)
	take(t, s, 1, id)
	if err := s.Done(t.Context(), id, 1, []byte(`"`+strings.Repeat("x", 70_000)+`"`)); !refused(err, "23514") {
		t.Errorf("a result without limit: %v", err)
	}
	if _, err := conn.Exec(t.Context(), `SELECT conch.job_hold($1, 2)`, id); !refused(err, "CN021") {
		t.Errorf("another attempt than the one that goes on is held: %v", err)
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
		if err := s.Failed(t.Context(), id, 1, pgstore.Failed, "no", 0, true); err != nil {
			t.Fatal(err)
		}
	}
	again := scan[int64](t, conn, `SELECT conch.job_add('other', 'work', key => 'k0')`)
	if done, err := s.Operate(t.Context(), pgstore.Operation{ID: [16]byte{1}, Kind: pgstore.Retry}); err != nil || done != 3 {
		t.Fatalf("%d were retried, %v", done, err)
	}
	if n := scan[int](t, conn, `SELECT count(*) FROM conch.job_waiting WHERE attempt = 3`); n != 2 {
		t.Errorf("%d wait for their lane", n)
	}
	for i, id := range ids {
		j := take(t, s, 9, id)[0]
		if j.Attempt != 3 {
			t.Errorf("it is attempt %d", j.Attempt)
		}
		if i == 0 { // this one dies again, after as many attempts
			for attempt := 3; attempt <= 4; attempt++ {
				if err := s.Failed(t.Context(), id, attempt, pgstore.Failed, "no", 0, false); err != nil {
					t.Fatal(err)
				}
				if attempt == 3 {
					take(t, s, 9, id)
				}
			}
		} else if err := s.Done(t.Context(), id, 3, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := scan[int](t, conn, `SELECT count(*) FROM conch.job_dead WHERE job = $1 AND attempt = 4`, ids[0]); n != 1 {
		t.Error("the first one is not dead")
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
	run(t, conn, `SELECT conch.job_failed(t.job, t.attempt, 'failed', 'no', '0', true) FROM conch.job_take('{q}', 'worker/1', 1, 9) t`)
	operates(3, "q", 2)
	operates(4, "q", 2)
}

// Those who wait hear of a job, and of a cron that has changed.
func TestWhoHearsOfIt(t *testing.T) {
	t.Parallel()
	_, conn := opened(t)
	run(t, conn, `LISTEN conch_job`)
	run(t, conn, `LISTEN conch_cron`)
	id := scan[int64](t, conn, `SELECT conch.cron_revise('tick', '{}', false, false)`)
	scan[int64](t, conn, `SELECT conch.job_add('mail', 'work')`)
	var got []string
	for range 2 {
		n, err := conn.WaitForNotification(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, n.Channel+" "+n.Payload)
	}
	if want := []string{fmt.Sprint("conch_cron ", id), "conch_job mail"}; !slices.Equal(got, want) {
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
