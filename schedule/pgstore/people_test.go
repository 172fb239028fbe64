package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/schedule"
	"github.com/conchhq/conch/schedule/pgstore"
)

// crons lists crons, each in a few words.
func (d *desk) crons(name, after string, most int) string {
	d.t.Helper()
	all, err := d.s.Crons(d.t.Context(), name, after, most)
	if err != nil {
		d.t.Fatal(err)
	}
	var words []string
	for _, c := range all {
		words = append(words, fmt.Sprintf("%s paused=%v filed=%v adopted=%v last=%v", c.Name, c.Paused, c.Filed, c.Adopted, c.Last != nil))
	}
	return strings.Join(words, "; ")
}

// People see crons by their newest revisions, with what they did last.
func TestCronsAreListed(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	all := d.declare(1, cron("a", schedule.Skip), cron("b", schedule.Skip), cron("c", schedule.Skip))
	first := d.adopt(all[1])
	d.write(first)
	d.write(d.after(first, 1, 1, 2))
	d.declare(2, cron("a", schedule.Skip), cron("b", schedule.Skip))
	if got := d.crons("", "", 9); got != "a paused=false filed=true adopted=false last=false; b paused=false filed=true adopted=true last=true" {
		t.Errorf("got %s", got)
	}
	if got := d.crons("", "a", 1) + d.crons("a", "", 9) + d.crons("c", "", 9) + d.crons("", "b", 9); strings.Count(got, "paused") != 2 {
		t.Errorf("got %s", got)
	}
	run(t, d.conn, `INSERT INTO conch.job_attempts (job, attempt, outcome, post, began, ended) SELECT job, n, (ARRAY['failed', 'done'])[n], 'w', now(), now() FROM (SELECT DISTINCT job FROM conch.cron_runs) r, generate_series(1, 2) n`)
	both, err := d.s.Past(t.Context(), []int64{all[0].ID, all[1].ID}, d.base.Add(2*time.Minute), 9)
	past := both[all[1].ID]
	if err != nil || len(both) != 1 || len(past) != 1 || past[0].Ended != "done" || !past[0].At.Equal(d.base.Add(time.Minute)) || past[0].Outcome != "enqueued" || past[0].Epoch != 1 {
		t.Errorf("got %+v, %v", past, err)
	}
	run(t, d.conn, `INSERT INTO conch.cron_gaps VALUES ($1, $2, $2, 7, 'late', 1, now())`, all[1].ID, d.base)
	if gaps, err := d.s.Gaps(t.Context(), all[1].ID, time.Now(), 9); err != nil || len(gaps) != 1 || gaps[0].Count != 7 || !gaps[0].From.Equal(d.base) {
		t.Errorf("got %+v, %v", gaps, err)
	}
}

// Pausing is a revision, with its author; it lasts while the file changes, and to pause twice is to pause once.
func TestPause(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.declare(1, cron("a", schedule.Skip))
	for range 2 {
		if err := d.s.Pause(t.Context(), "a", true, "ops"); err != nil {
			t.Fatal(err)
		}
	}
	d.declare(2, cron("a", schedule.Queue))
	if got := d.crons("a", "", 1); !strings.HasPrefix(got, "a paused=true filed=true") {
		t.Errorf("got %s", got)
	}
	if err := d.s.Pause(t.Context(), "a", false, "ops"); err != nil || !strings.HasPrefix(d.crons("a", "", 1), "a paused=false filed=true") {
		t.Errorf("got %s, %v", d.crons("a", "", 1), err)
	}
	if n := scan[int](t, d.conn, `SELECT count(*) FROM conch.cron_revisions WHERE by = 'ops'`); n != 2 {
		t.Errorf("%d revisions are of their author", n)
	}
	if err := d.s.Pause(t.Context(), "b", true, "ops"); !errors.Is(err, pgstore.ErrNotFound) {
		t.Errorf("one that is not there: %v", err)
	}
}

// A cron that is run by hand gets a job at once. It waits for the one before, also where a scheduled time would be skipped.
func TestRunNow(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.declare(1, cron("a", schedule.Skip))
	for i, state := range []string{pgstore.Ready, pgstore.Waiting} {
		got, err := d.s.RunNow(t.Context(), "a", time.Time{}, time.Time{})
		if err != nil || len(got) != 1 || got[0].Outcome != "enqueued" || got[0].Epoch != 0 {
			t.Fatalf("got %+v, %v", got, err)
		}
		if r, _, err := d.s.Record(t.Context(), got[0].Job); err != nil || r.State != state || r.Cron != "a" || !r.At.Equal(got[0].At) || string(r.Args) != "{}" {
			t.Errorf("job %d is %+v, %v", i, r, err)
		}
	}
	if _, err := d.s.RunNow(t.Context(), "b", time.Time{}, time.Time{}); !errors.Is(err, pgstore.ErrNotFound) {
		t.Errorf("one that is not there: %v", err)
	}
}

// Of a span each scheduled time that has no row gets one, in its order, and once.
func TestASpanIsRunByHand(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	c := d.declare(1, cron("a", schedule.Allow))[0]
	first := d.adopt(c)
	d.write(first)
	begin := d.base.Truncate(time.Minute).Add(time.Minute)
	has := d.after(first, 1)
	has.Runs, has.To.At = append(has.Runs, d.after(first, 1, 3).Runs...), d.base.Add(10*time.Minute)
	has.Runs[0].At = begin.Add(time.Minute)
	d.write(has)
	for i, want := range []string{"enqueued existing enqueued", "existing existing existing"} {
		got, err := d.s.RunNow(t.Context(), "a", begin, begin.Add(2*time.Minute))
		var words []string
		for j, p := range got {
			words = append(words, p.Outcome)
			if !p.At.Equal(begin.Add(time.Duration(j) * time.Minute)) {
				t.Errorf("time %d is %s", j, p.At)
			}
		}
		if strings.Join(words, " ") != want || err != nil {
			t.Errorf("call %d: %v, %v; want %s", i, words, err, want)
		}
	}
	run(t, d.conn, `UPDATE conch.crons SET floor_at = $1`, begin.Add(-time.Minute))
	refused := func(says string, from, to time.Time) {
		t.Helper()
		if _, err := d.s.RunNow(t.Context(), "a", from, to); !errors.Is(err, pgstore.ErrSpan) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	refused("ends before", begin, begin.Add(-time.Second))
	refused("leader runs", begin, time.Now().Add(time.Hour))
	refused("were deleted", begin.Add(-time.Minute), begin)
	refused("none is", begin.Add(time.Second), begin.Add(2*time.Second))
	d.declare(2, schedule.Cron{Name: "a", Schedule: "* * * * * *", Job: "work"})
	refused("more than 1000", begin, begin.Add(1000*time.Second))
}

// Of two files of one version each node is told that the other one's says something else.
func TestFilesOfOneVersionThatDiffer(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	mine := schedule.File{Version: 1, Node: "n1", Crons: schedule.Config{Crons: []schedule.Cron{cron("a", schedule.Skip), cron("b", schedule.Skip)}}.WithDefaults().Crons}
	others := schedule.File{Version: 1, Node: "n2", Crons: mine.Crons[:1]}
	differs := func(f schedule.File) string {
		t.Helper()
		node, is, err := d.s.Differs(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(node, is)
	}
	if err := d.s.Declare(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	again := mine
	again.Node, again.Crons = "n3", []schedule.Cron{mine.Crons[1], mine.Crons[0]}
	if got := differs(mine) + differs(again) + differs(others); got != "falsefalsen1true" {
		t.Errorf("got %s", got)
	}
	if err := d.s.Declare(t.Context(), others); err != nil {
		t.Fatal(err)
	}
	newer := mine
	newer.Version = 2
	if got := differs(mine) + differs(others) + differs(newer); got != "n2truefalsefalse" {
		t.Errorf("got %s", got)
	}
}

// A job is in the state of the table that has its row, and is cancelled, or hurried, from there.
func TestJobsAreListedAndCancelled(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	add := func(a pgstore.Addition) int64 {
		t.Helper()
		a.Queue, a.Handler, a.Args, a.Retries, a.Timeout = "q", "work", `{"n": 1}`, 3, time.Minute
		id, err := s.Add(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	kill(t, conn, 1)
	taken := add(pgstore.Addition{})
	take(t, s, 1, taken)
	ended := add(pgstore.Addition{})
	take(t, s, 1, ended)
	tell(t, s, schedule.End{Key: schedule.Key{ID: ended, Attempt: 1}, Outcome: "done", Result: []byte(`7`)})
	ready := add(pgstore.Addition{Lane: "l", Key: "k"})
	waiting := add(pgstore.Addition{Lane: "l"})
	waits := add(pgstore.Addition{Lane: "l"})
	later := add(pgstore.Addition{RunAt: time.Now().Add(time.Hour)})
	if again := add(pgstore.Addition{Key: "k"}); again != ready {
		t.Errorf("job %d has the key of %d", again, ready)
	}
	states := func(f pgstore.JobFilter) string {
		t.Helper()
		f.Most = 50
		all, err := s.Jobs(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		for _, r := range all {
			words = append(words, r.State)
		}
		return strings.Join(words, " ")
	}
	if got := states(pgstore.JobFilter{}); got != "later waiting waiting ready done taken dead" {
		t.Errorf("got %s", got)
	}
	for _, state := range pgstore.States() {
		if got := states(pgstore.JobFilter{State: state, Queue: "q"}); !strings.HasPrefix(got, state) || states(pgstore.JobFilter{State: state, Queue: "other"}) != "" {
			t.Errorf("%s: got %s", state, got)
		}
	}
	if got := states(pgstore.JobFilter{Before: waiting}) + states(pgstore.JobFilter{State: pgstore.Waiting, Before: waits}); got != "ready done taken deadwaiting" {
		t.Errorf("got %s", got)
	}
	depths, err := s.Depths(t.Context())
	for i, d := range depths {
		if (d.Wait > 0) != (d.State == pgstore.Ready) {
			t.Errorf("%+v waits for a worker", d)
		}
		depths[i].Wait = 0
	}
	if err != nil || fmt.Sprint(depths) != "[{q dead 1 0s} {q later 1 0s} {q ready 1 0s} {q taken 1 0s} {q waiting 2 0s}]" {
		t.Errorf("got %v, %v", depths, err)
	}
	cancel := func(id int64, want string) {
		t.Helper()
		if was, err := s.Cancel(t.Context(), id, "not wanted"); err != nil || was != want {
			t.Errorf("job %d was %q, %v; want %q", id, was, err, want)
		}
	}
	cancel(waiting, pgstore.Waiting)
	cancel(ready, pgstore.Ready)
	cancel(ready, "")
	cancel(taken, pgstore.Taken)
	cancel(ended, "")
	if did, err := s.Hurry(t.Context(), waits); err != nil || did {
		t.Errorf("one that is ready is hurried: %v", err)
	}
	if did, err := s.Hurry(t.Context(), later); err != nil || !did {
		t.Errorf("it is not hurried: %v", err)
	}
	if got := states(pgstore.JobFilter{}); got != "ready ready cancelled cancelled done taken dead" {
		t.Errorf("got %s: the next one of the lane is ready", got)
	}
	r, all, err := s.Record(t.Context(), ready)
	if err != nil || len(all) != 1 || all[0].Outcome != "cancelled" || r.Why != "not wanted" || string(r.Args) != `{"n": 1}` || r.Lane != "l" || r.Key != "k" {
		t.Errorf("got %+v %+v, %v", r, all, err)
	}
	if add(pgstore.Addition{Key: "k"}) == ready {
		t.Error("a job that was cancelled has its key")
	}
	if _, _, err := s.Record(t.Context(), 999); !errors.Is(err, pgstore.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if r, _, err := s.Record(t.Context(), add(pgstore.Addition{Priority: 3})); err != nil || !r.Moment.Equal(r.Created) {
		t.Errorf("a job that gives way to others is ready since %s, %v; want %s", r.Moment, err, r.Created)
	}
}

// While one that waits for a lane is cancelled, the job that holds the lane ends: the next one gets it.
func TestACancelledJobHoldsUpNoLane(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s, conn, ender, other := open(t, db.Config()), db.Connect(t), db.Connect(t), db.Connect(t)
	ids := make([]int64, 3)
	for i := range ids {
		ids[i] = scan[int64](t, conn, `SELECT conch.job_add('q', 'work', lane => 'l')`)
	}
	take(t, s, 1, ids[0])
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `SELECT conch.job_cancel($1, 'not wanted')`, ids[1]); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := ender.Exec(context.WithoutCancel(t.Context()), `SELECT conch.job_done($1, 1)`, ids[0])
		ended <- err
	}()
	pgtest.Eventually(t, patience, "its end waits for the cancelled one", func() bool {
		return scan[int](t, other, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) > 0
	})
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	pgtest.Within(t, patience, "it ends", func() {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	if id := scan[int64](t, other, `SELECT job FROM conch.job_ready`); id != ids[2] {
		t.Errorf("job %d is ready, want %d", id, ids[2])
	}
}

// What becomes of an operation is in its record.
func TestAnOperationIsLookedUp(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	kill(t, conn, 2)
	if _, err := s.Operate(t.Context(), pgstore.Operation{ID: [16]byte{1}, Kind: pgstore.Retry, Jobs: []int64{1}, By: "ops"}); err != nil {
		t.Fatal(err)
	}
	c, err := s.Operation(t.Context(), [16]byte{1})
	if err != nil || c.Done != 1 || c.Ended.IsZero() || c.By != "ops" || c.Kind != pgstore.Retry || len(c.Jobs) != 1 {
		t.Errorf("got %+v, %v", c, err)
	}
	if _, err := s.Operation(t.Context(), [16]byte{2}); !errors.Is(err, pgstore.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// Who listens hears of a cron that somebody has changed.
func TestChangesAreHeard(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.declare(1, cron("a", schedule.Skip))[0].ID
	ctx, cancel := context.WithCancel(t.Context())
	up, heard, over := make(chan struct{}, 9), make(chan int64, 9), make(chan struct{})
	go func() {
		defer close(over)
		_ = d.s.Listen(ctx, func(cron int64) { heard <- cron }, func() { up <- struct{}{} })
	}()
	pgtest.Within(t, patience, "it listens", func() { <-up })
	if err := d.s.Pause(t.Context(), "a", true, "ops"); err != nil {
		t.Fatal(err)
	}
	pgtest.Within(t, patience, "it hears", func() {
		if got := <-heard; got != id {
			t.Errorf("it hears of %d, want %d", got, id)
		}
	})
	cancel()
	<-over
}
