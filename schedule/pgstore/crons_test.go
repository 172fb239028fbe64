package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/schedule"
	"github.com/conchhq/conch/schedule/internal/core"
	"github.com/conchhq/conch/schedule/pgstore"
	"github.com/conchhq/conch/schedule/zone"
)

// F12: what the scheduler that ships writes by way of this store: a row and a job for each second, by the leader.
func TestASchedulerRuns(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	one, err := schedule.New(schedule.Config{Version: 1, Crons: []schedule.Cron{{Name: "tick", Schedule: "* * * * * *", Job: "work", Overlap: schedule.Allow}}}, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := one.Declare(t.Context()); err != nil {
		t.Fatal(err)
	}
	gate, latch := fence.New("scheduler", nil)
	latch.Open(leader, 0, fence.Boottime().Add(time.Hour))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- one.Lead(ctx, gate) }()
	pgtest.Eventually(t, patience, "three rows", func() bool { return scan[int](t, conn, `SELECT count(*) FROM conch.cron_runs`) >= 3 })
	run(t, conn, `UPDATE public.minted SET epoch = 2`)
	if err := <-done; !errors.Is(err, fence.ErrStale) {
		t.Errorf("it ended with %v", err)
	}
	cancel()
	if n := scan[int](t, conn, `SELECT count(*) FROM conch.cron_runs r LEFT JOIN conch.jobs j ON j.id = r.job AND j.at = r.at AND j.cron = r.cron
		WHERE j.id IS NULL OR r.at > r.decided_at OR r.epoch <> 1 OR j.scope <> 'scheduler'`); n != 0 {
		t.Errorf("%d rows have no job, or another one, or are early", n)
	}
	if n := scan[int](t, conn, `SELECT count(*) FROM conch.job_ready`); n != scan[int](t, conn, `SELECT count(*) FROM conch.jobs`) {
		t.Errorf("%d jobs are ready", n)
	}
}

// desk drives moves by hand.
type desk struct {
	t    *testing.T
	s    *pgstore.Store
	conn *pgx.Conn
	base time.Time // some minutes ago
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	s, conn := opened(t)
	return &desk{t: t, s: s, conn: conn, base: time.Now().UTC().Truncate(time.Second).Add(-time.Hour)}
}

// declare declares crons, whose schedule does not matter here, and returns them as a leader reads them.
func (d *desk) declare(version int64, crons ...schedule.Cron) []core.Cron {
	d.t.Helper()
	full := schedule.Config{Crons: crons}.WithDefaults().Crons
	if err := d.s.Declare(d.t.Context(), schedule.File{Version: version, Node: "me", Crons: full}); err != nil {
		d.t.Fatal(err)
	}
	return d.read().Crons
}

func (d *desk) read(ids ...int64) schedule.Loaded {
	d.t.Helper()
	l, err := d.s.Read(d.t.Context(), schedule.Read{Crons: ids})
	if err != nil {
		d.t.Fatal(err)
	}
	return l
}

func cron(name, overlap string) schedule.Cron {
	return schedule.Cron{Name: name, Schedule: "* * * * *", Job: "work", Overlap: overlap, Waits: 2, Retries: 1}
}

// adopt adopts the next revision, from the base on.
func (d *desk) adopt(c core.Cron) core.Move {
	return core.Move{Cron: c.ID, Was: c.Position, To: core.Cursor{At: d.base}, Adopt: c.Adopted + 1, Since: d.base}
}

// after is a move from where another one leads, with rows some minutes after the base.
func (d *desk) after(m core.Move, newest int, minutes ...int) core.Move {
	next := core.Move{Cron: m.Cron, Was: core.Position{Cursor: m.To, Adopted: max(m.Adopt, m.Was.Adopted), Newest: newest}}
	for _, n := range minutes {
		at := d.base.Add(time.Duration(n) * time.Minute)
		next.Runs = append(next.Runs, core.Run{Occurrence: zone.Occurrence{At: at, Wall: at}, Revision: next.Was.Adopted, Begins: at})
		next.To = core.Cursor{At: at, Wall: at}
	}
	return next
}

func (d *desk) write(moves ...core.Move) schedule.Written {
	d.t.Helper()
	out, err := d.s.Write(d.t.Context(), leader, schedule.Write{Moves: moves})
	if err != nil {
		d.t.Fatal(err)
	}
	return out
}

func ends(w schedule.Written) string {
	var all []string
	for _, e := range w.Ends {
		all = append(all, fmt.Sprint(e.Outcome, " ", e.Job))
	}
	return strings.Join(all, ", ")
}

// A cron moves only from where the leader believes that it stands, and no further than the clock.
func TestAMoveIsComparedAndSet(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	c := d.declare(1, cron("tick", schedule.Allow))[0]
	first := d.adopt(c)
	d.write(first)
	if got := d.read(c.ID).Crons[0]; got.Position != (core.Position{Cursor: first.To, Adopted: 1, Newest: 1}) || !got.Revisions[0].Since.Equal(d.base) {
		t.Errorf("it stands at %+v", got)
	}
	good := d.after(first, 1, 1, 2)
	for what, change := range map[string]func(*core.Move){
		"another cursor":     func(m *core.Move) { m.Was.Cursor.At = d.base.Add(-time.Second) },
		"another wall clock": func(m *core.Move) { m.Was.Cursor.Wall = d.base },
		"another revision":   func(m *core.Move) { m.Was.Adopted = 2 },
		"a newer revision":   func(m *core.Move) { m.Was.Newest = 2 },
		"a time to come": func(m *core.Move) {
			m.Runs = append(m.Runs[:2:2], core.Run{Occurrence: zone.Occurrence{At: d.base.Add(100 * time.Hour)}, Revision: 1})
		},
	} {
		bad := good
		change(&bad)
		if out := d.write(bad); len(out.Moved) != 0 || len(out.Ends) != 0 {
			t.Errorf("%s: it has moved: %+v", what, out)
		}
	}
	if out := d.write(good); len(out.Moved) != 1 || strings.Count(ends(out), core.Enqueued) != 2 {
		t.Errorf("it has not moved: %+v", out)
	}
	back := d.after(good, 1)
	back.To = core.Cursor{At: d.base}
	d.write(back)
	again := d.after(back, 1, 1, 2, 3)
	if out := d.write(again); strings.Count(ends(out), core.Existing) != 2 || strings.Count(ends(out), core.Enqueued) != 1 {
		t.Errorf("what has a row has %s", ends(out))
	}
	if n := scan[int](t, d.conn, `SELECT count(*) FROM conch.jobs`); n != 3 {
		t.Errorf("there are %d jobs", n)
	}
}

// The fence refuses all of a write.
func TestAStaleLeaderWritesNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	c := d.declare(1, cron("tick", schedule.Allow))[0]
	run(t, d.conn, `UPDATE public.minted SET epoch = 2`)
	if _, err := d.s.Write(t.Context(), leader, schedule.Write{Moves: []core.Move{d.adopt(c)}}); !errors.Is(err, fence.ErrStale) {
		t.Errorf("got %v", err)
	}
	if got := d.read(c.ID).Crons[0]; got.Adopted != 0 {
		t.Errorf("it has moved: %+v", got)
	}
}

// While the job of an earlier time goes on, a time has no job, or one that waits, or one beside it.
func TestOverlap(t *testing.T) {
	t.Parallel()
	for overlap, want := range map[string][3]int{schedule.Skip: {1, 0, 3}, schedule.Queue: {1, 2, 1}, schedule.Allow: {4, 0, 0}} {
		d := newDesk(t)
		first := d.adopt(d.declare(1, cron("tick", overlap))[0])
		d.write(first)
		d.write(d.after(first, 1, 1, 2, 3, 4))
		got := [3]int{
			scan[int](t, d.conn, `SELECT count(*) FROM conch.job_ready`), scan[int](t, d.conn, `SELECT count(*) FROM conch.job_waiting`),
			scan[int](t, d.conn, `SELECT count(*) FROM conch.cron_runs WHERE outcome = 'skipped' AND job = (SELECT job FROM conch.job_lanes)`),
		}
		if got != want {
			t.Errorf("%s: %v are ready, wait and are skipped; want %v", overlap, got, want)
		}
		if n := scan[int](t, d.conn, `SELECT count(*) FROM conch.jobs`); n != want[0]+want[1] {
			t.Errorf("%s: there are %d jobs", overlap, n)
		}
	}
}

// A lane that somebody holds in a transaction of his own delays that cron, and no other.
func TestALockedLane(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	all := d.declare(1, cron("held", schedule.Skip), cron("free", schedule.Skip))
	moves := []core.Move{d.adopt(all[0]), d.adopt(all[1])}
	d.write(moves...)
	d.write(d.after(moves[0], 1, 1))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tx, err := d.conn.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, `SELECT FROM conch.job_lanes FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	out := d.write(d.after(d.after(moves[0], 1, 1), 1, 2), d.after(moves[1], 1, 1))
	if len(out.Moved) != 1 || out.Moved[0] != all[1].ID {
		t.Errorf("%v have moved", out.Moved)
	}
	if err := tx.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
}

// Rows are deleted up to the floor, which is never above the cursor; gaps are kept.
func TestPrune(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	first := d.adopt(d.declare(1, cron("tick", schedule.Allow))[0])
	gap := d.after(first, 1, 1, 2, 3)
	gap.Gap = &core.Gap{From: d.base, To: d.base, Count: 1, Why: core.WhyLate}
	d.write(first)
	d.write(gap)
	prune := func(minutes int) int {
		t.Helper()
		out, err := d.s.Write(t.Context(), leader, schedule.Write{Prunes: []core.Prune{{Cron: first.Cron, Upto: d.base.Add(time.Duration(minutes) * time.Minute)}}})
		if err != nil {
			t.Fatal(err)
		}
		return len(out.Moved)
	}
	if n := prune(2); n != 1 || scan[int](t, d.conn, `SELECT count(*) FROM conch.cron_runs`) != 1 {
		t.Errorf("%d crons were pruned", n)
	}
	if n := prune(4); n != 0 || scan[int](t, d.conn, `SELECT count(*) FROM conch.cron_runs`) != 1 {
		t.Error("a floor above the cursor is taken")
	}
	if floor := d.read(first.Cron).Crons[0].Floor; !floor.Equal(d.base.Add(2 * time.Minute)) {
		t.Errorf("the floor is %s", floor)
	}
	if n := scan[int](t, d.conn, `SELECT count(*) FROM conch.cron_gaps WHERE why = 'late' AND count = 1`); n != 1 {
		t.Error("the gap is gone")
	}
}

// A file replaces one of a lower version, and of the same one, and no other. A cron that is retired and made again has another id.
func TestFiles(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	one := d.declare(2, cron("one", schedule.Skip), cron("two", schedule.Queue))
	if len(one) != 2 || one[0].Revisions[0].Waits != 2 || one[1].Revisions[0].Overlap != schedule.Queue || one[0].Revisions[0].Late != time.Minute {
		t.Fatalf("read %+v", one)
	}
	if got := d.declare(1, cron("old", schedule.Skip)); len(got) != 2 {
		t.Errorf("a file of a lower version counts: %+v", got)
	}
	got := d.declare(2, cron("one", schedule.Skip))
	if len(got) != 2 || got[0].Newest != 1 || got[1].Newest != 2 || !got[1].Revisions[1].Retired {
		t.Errorf("got %+v", got)
	}
	got = d.declare(3, cron("one", schedule.Skip), cron("two", schedule.Queue))
	if len(got) != 3 || got[2].Name != "two" || got[2].ID == got[1].ID {
		t.Errorf("got %+v", got)
	}
	if n := scan[*int64](t, d.conn, `SELECT conch.cron_revise('nobody', '{}', true, false)`); n != nil {
		t.Errorf("cron %d was made to be retired", *n)
	}
}

// F11: crons that are due together in great number are written over two connections at once, and what has become of each is told in their order. A token that is
// over writes none of them.
func TestManyCronsAreWrittenAtOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	const many = 120
	var all []schedule.Cron
	for i := range many {
		all = append(all, cron(fmt.Sprintf("c%03d", i), schedule.Allow))
	}
	var moves []core.Move
	for _, c := range d.declare(1, all...) {
		moves = append(moves, d.adopt(c))
	}
	if out := d.write(moves...); len(out.Moved) != many {
		t.Fatalf("%d are adopted", len(out.Moved))
	}
	for i, m := range moves {
		moves[i] = d.after(m, 1, 1)
	}
	old := leader
	old.Epoch = 7
	if _, err := d.s.Write(t.Context(), old, schedule.Write{Moves: moves}); !errors.Is(err, fence.ErrStale) {
		t.Errorf("another epoch: %v", err)
	}
	out := d.write(moves...)
	for i, e := range out.Ends {
		if e.Cron != moves[i].Cron || e.Outcome != core.Enqueued {
			t.Errorf("end %d is %+v, of cron %d", i, e, moves[i].Cron)
		}
	}
	if n := scan[int](t, d.conn, `SELECT count(DISTINCT xmin::text) FROM conch.cron_runs`); n != 2 || len(out.Ends) != many || len(out.Moved) != many {
		t.Errorf("%d transactions have written %d times, and moved %d", n, len(out.Ends), len(out.Moved))
	}
}

// A leader counts from the clock as it is at the end of a write: from its beginning it would wake too late by what the write has taken.
func TestTheClockIsThatOfTheEnd(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.adopt(d.declare(1, cron("tick", schedule.Allow))[0])
	d.write(m)
	out := d.write(d.after(m, 1, 1))
	if decided := scan[time.Time](t, d.conn, `SELECT decided_at FROM conch.cron_runs`); !out.At.After(decided) {
		t.Errorf("the clock is %s, which is when the write began: %s", out.At, decided)
	}
}
