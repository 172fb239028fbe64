package pgstore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/schedule"
	"github.com/conchhq/conch/schedule/pgstore"
)

// F11: what is of use to nobody any more is deleted under the fence, a little at a time, and what is open, dead or young stays.
func TestTrim(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	run(t, conn, `SELECT conch.job_add('q', 'work') FROM generate_series(1, 3)`) // done, cancelled, discarded
	run(t, conn, `SELECT FROM conch.job_take('{q}', 'worker/1', 1, 1)`)
	run(t, conn, `SELECT conch.job_done(1, 1)`)
	run(t, conn, `INSERT INTO conch.job_attempts (job, attempt, outcome, post, began, ended, spare) VALUES (1, 0, 'failed', 'worker/1', now(), now(), 3)`) // the newest counts
	run(t, conn, `SELECT conch.job_cancel(2, 'no')`)
	die(t, conn, 1)
	if _, err := s.Operate(t.Context(), pgstore.Operation{ID: [16]byte{3}, Kind: pgstore.Discard, Jobs: []int64{3}}); err != nil {
		t.Fatal(err)
	}
	run(t, conn, `SELECT conch.job_add('q', 'work') FROM generate_series(4, 6)`) // 4 is dead, 5 is dead and tried again, 6 is at work
	die(t, conn, 2)
	if _, err := s.Operate(t.Context(), pgstore.Operation{ID: [16]byte{5}, Kind: pgstore.Retry, Jobs: []int64{5}}); err != nil {
		t.Fatal(err)
	}
	run(t, conn, `SELECT FROM conch.job_take('{q}', 'worker/1', 1, 1)`)
	run(t, conn, `SELECT conch.job_add('q', 'work', run_at => now() + interval '1 year')`) // 7
	run(t, conn, `SELECT conch.job_add('q2', 'work')`)                                     // 8 was added long ago, and has just ended
	run(t, conn, `SELECT FROM conch.job_take('{q2}', 'worker/1', 1, 1)`)
	run(t, conn, `UPDATE conch.jobs SET created_at = created_at - interval '90 days'; UPDATE conch.job_attempts SET ended = ended - interval '80 days';
		UPDATE conch.job_operations SET ended_at = ended_at - interval '80 days'`)
	run(t, conn, `SELECT conch.job_done(8, 1)`)
	run(t, conn, `SELECT conch.job_add('q', 'work')`) // 9 is young
	run(t, conn, `INSERT INTO conch.crons (name, filed, retired, newest, adopted, floor_at)
		VALUES ('gone', true, true, 2, 2, NULL), ('lives', true, false, 2, 2, now() - interval '50 days'), ('going', true, true, 2, 1, NULL), ('late', true, true, 2, 2, NULL)`)
	run(t, conn, `INSERT INTO conch.cron_revisions (cron, n, definition, retired, since)
		SELECT c.id, n, '{}', c.retired AND n = 2, now() - CASE WHEN c.name = 'late' AND n = 2 THEN interval '10 days' ELSE '70 days' END FROM conch.crons c, generate_series(1, 2) n`)
	run(t, conn, `INSERT INTO conch.cron_runs SELECT c.id, now() - make_interval(days => d), 'enqueued', 1, 1, 1, now() FROM conch.crons c, generate_series(20, 60, 40) d`)
	run(t, conn, `INSERT INTO conch.cron_gaps SELECT 2, now(), now(), 1, 'late', 1, now() - make_interval(days => d) FROM generate_series(20, 60, 40) d`)

	before := time.Now().Add(-30 * 24 * time.Hour)
	stale := leader
	stale.Epoch = 9
	if _, err := s.Trim(t.Context(), stale, before, 0); !errors.Is(err, fence.ErrStale) {
		t.Errorf("with a stale token: %v", err)
	}
	left := func() string {
		return scan[string](t, conn, `SELECT concat_ws(' | ',
			(SELECT string_agg(id::text, ' ' ORDER BY id) FROM conch.jobs), (SELECT string_agg(DISTINCT job::text, ' ' ORDER BY job::text) FROM conch.job_attempts),
			(SELECT string_agg(c.name || date_part('day', now() - r.at), ' ' ORDER BY c.name, r.at DESC) FROM conch.cron_runs r JOIN conch.crons c ON c.id = r.cron),
			(SELECT count(*) FROM conch.cron_gaps), (SELECT string_agg(c.name || v.n, ' ' ORDER BY c.name, v.n) FROM conch.cron_revisions v JOIN conch.crons c ON c.id = v.cron),
			(SELECT count(*) FROM conch.job_operations))`)
	}
	const all = "1 2 3 4 5 6 7 8 9 | 1 2 3 4 5 8 | going20 going60 gone20 gone60 late20 late60 lives20 lives60 | 2 | going1 going2 gone1 gone2 late1 late2 lives1 lives2 | 2"
	if got := left(); got != all {
		t.Errorf("a stale token has left\n%s, want\n%s", got, all)
	}
	if done, err := s.Trim(t.Context(), leader, time.Now().Add(-100*24*time.Hour), 0); done != (schedule.Trimmed{Runs: 1}) || err != nil || left() != strings.Replace(all, " lives60", "", 1) {
		t.Errorf("nothing is old enough, but what its leader has given up: %+v, %v, %s", done, err, left())
	}
	if done, err := s.Trim(t.Context(), leader, before, 0); done != (schedule.Trimmed{Jobs: 3, Runs: 2, Others: 4}) || err != nil {
		t.Errorf("deleted are %+v, %v", done, err)
	}
	const want = "4 5 6 7 8 9 | 4 5 8 | going20 going60 late20 late60 lives20 | 1 | going1 going2 gone2 late1 late2 lives2 | 0"
	if got := left(); got != want {
		t.Errorf("left are\n%s, want\n%s", got, want)
	}
}

// One transaction deletes a bounded number of rows, and the next one goes on after it, past what stays. A clock of this process that is ahead deletes nothing that is young
// by the database's.
func TestTrimIsBounded(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	run(t, conn, `SELECT conch.job_add('q', 'work') FROM generate_series(1, 1500)`)
	die(t, conn, 1200) // these stay
	run(t, conn, `SELECT conch.job_cancel(j.job, 'no') FROM conch.job_ready j`)
	run(t, conn, `UPDATE conch.jobs SET created_at = created_at - interval '90 days'; UPDATE conch.job_attempts SET ended = ended - interval '80 days'`)
	run(t, conn, `INSERT INTO conch.cron_gaps SELECT 1, now(), now(), 1, 'late', 1, now() - interval '60 days' FROM generate_series(1, 2500)`)
	run(t, conn, `INSERT INTO conch.cron_gaps SELECT 1, now(), now(), 1, 'late', 1, now() + interval '1 hour'`) // young
	before, says := time.Now().Add(24*time.Hour), ""
	for done := (schedule.Trimmed{More: true}); done.More && len(says) < 100; {
		var err error
		if done, err = s.Trim(t.Context(), leader, before, done.Next); err != nil {
			t.Fatal(err)
		}
		says += fmt.Sprint(done.Next, " ", scan[int](t, conn, `SELECT count(*) FROM conch.jobs`), " ", scan[int](t, conn, `SELECT count(*) FROM conch.cron_gaps`), "; ")
	}
	if want := "1000 1500 1501; 0 1200 501; 1000 1200 1; 0 1200 1; "; says != want {
		t.Errorf("it went on after ids, with so many jobs and gaps left: %s, want %s", says, want)
	}
}

// F11: one step deletes so many rows of each kind and no more, however many are old, and the next steps delete the rest.
func TestWhatOneStepMayDelete(t *testing.T) {
	t.Parallel()
	_, conn := opened(t)
	run(t, conn, `SELECT conch.job_add('q', 'work') FROM generate_series(1, 3)`)
	run(t, conn, `SELECT conch.job_cancel(j.job, 'no') FROM conch.job_ready j`)
	run(t, conn, `UPDATE conch.jobs SET created_at = created_at - interval '90 days'; UPDATE conch.job_attempts SET ended = ended - interval '80 days'`)
	run(t, conn, `INSERT INTO conch.job_operations (id, kind, ended_at) VALUES ('00000000-0000-0000-0000-000000000001', 'retry', now() - interval '80 days')`)
	run(t, conn, `INSERT INTO conch.job_operated SELECT p.id, 100 + n FROM conch.job_operations p, generate_series(1, 3) n`)
	run(t, conn, `INSERT INTO conch.crons (name, filed, newest, adopted, floor_at) VALUES ('a', true, 4, 4, now() - interval '50 days'), ('b', true, 1, 1, now() - interval '50 days')`)
	run(t, conn, `INSERT INTO conch.cron_revisions (cron, n, definition, retired, since) SELECT c.id, n, '{}', false, now() - interval '70 days' FROM conch.crons c, generate_series(c.newest, 1, -1) n`)
	run(t, conn, `INSERT INTO conch.cron_runs SELECT c.id, now() - make_interval(days => d), 'enqueued', 1, 1, 1, now() FROM conch.crons c, generate_series(61, 63) d`)
	run(t, conn, `INSERT INTO conch.cron_gaps SELECT 1, now(), now(), 1, 'late', 1, now() - interval '60 days' FROM generate_series(1, 3)`)
	for _, step := range []struct{ after, want string }{
		{"0", "jobs 2, runs 2, others 4, most 2, next 2"}, // gaps and revisions, two of each; operations wait until all jobs are seen
		{"2", "jobs 1, runs 2, others 4, most 2, next 0"}, // a gap, a revision, and two jobs of the operation
		{"0", "jobs 0, runs 2, others 1, most 2, next 0"},
		{"0", "jobs 0, runs 0, others 0, most 0, next 0"},
	} {
		got := scan[string](t, conn, `SELECT format('jobs %s, runs %s, others %s, most %s, next %s', ended, runs, others, gone, upto) FROM conch.schedule_trim(now() - interval '30 days', `+step.after+`, 2)`)
		if got != step.want {
			t.Errorf("a step after %s deletes %s, want %s", step.after, got, step.want)
		}
	}
	if n := scan[int](t, conn, `SELECT (SELECT count(*) FROM conch.job_operations) + (SELECT count(*) FROM conch.cron_gaps) + (SELECT count(*) FROM conch.cron_revisions)`); n != 2 {
		t.Errorf("%d rows are left, want the two revisions that are in force", n)
	}
}
