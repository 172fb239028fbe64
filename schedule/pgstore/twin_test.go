package pgstore_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/schedule"
	"github.com/conchhq/conch/schedule/internal/core"
	"github.com/conchhq/conch/schedule/internal/tables"
	"github.com/conchhq/conch/schedule/pgstore"
	"github.com/conchhq/conch/schedule/zone"
)

// The simulated world believes that the statements of this store do what package tables does. Each of both is told the same, whatever comes to
// mind, and they answer the same and have the same rows.
func TestTheTablesOfTheWorldAreThese(t *testing.T) {
	t.Parallel()
	for seed := range runtest.ByDay[uint64](2, 60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := &twins{desk: newDesk(t), world: tables.New(), rng: rand.New(rand.NewPCG(seed, 46)), jobs: map[int64]int64{}, ends: map[string]int{}, known: map[[2]int64]bool{}}
			for range 80 {
				w.turn()
			}
			for _, outcome := range []string{core.Enqueued, core.Skipped, core.Existing, "not moved", "not pruned"} {
				if w.ends[outcome] == 0 {
					t.Errorf("nothing was %s: this test shows little", outcome)
				}
			}
			w.sameRows()
		})
	}
}

// twins are the two of them.
type twins struct {
	*desk
	world *tables.Tables
	rng   *rand.Rand
	file  int               // the first of its crons
	own   int               // crons that users have made
	jobs  map[int64]int64   // of the world, by those of the store
	ends  map[string]int    // how often
	known map[[2]int64]bool // revisions, by their crons
}

func (w *twins) chance(percent int) bool { return w.rng.IntN(100) < percent }

func (w *twins) turn() {
	switch n := w.rng.IntN(10); {
	case n == 0 || len(w.world.IDs()) == 0:
		w.declares()
	case n == 1:
		w.revises()
	case n == 2:
		w.endsJob()
	default:
		w.writes()
	}
	w.learn()
}

// some is a definition of some kind.
func (w *twins) some(name string) core.Definition {
	c := cron(name, []string{core.Skip, core.Queue, core.Allow}[w.rng.IntN(3)])
	return schedule.Config{Crons: []schedule.Cron{c}}.WithDefaults().Crons[0]
}

// declares has a node start with a file: a retired name never comes again, since its lane is that of the name.
func (w *twins) declares() {
	w.file += w.rng.IntN(2)
	f := core.File{Version: w.rng.Int64N(3), Started: time.Now()}
	for i := range 3 {
		f.Crons = append(f.Crons, w.some(fmt.Sprint("f", w.file+i)))
	}
	if err := w.s.Declare(w.t.Context(), f); err != nil {
		w.t.Fatal(err)
	}
	w.world.Declare(f, f.Started)
}

// revises has a user change a cron, or make one.
func (w *twins) revises() {
	living := w.world.Living()
	c := core.Change{Definition: w.some(fmt.Sprint("own", w.own))}
	filed := false
	if w.own++; w.chance(70) && len(living) > 0 {
		l := living[w.rng.IntN(len(living))]
		c, filed = core.Change{ID: l.ID, Definition: l.Definition}, l.Filed
		c.Retired = !filed && w.chance(30)
		c.Paused = !c.Paused
	}
	definition, err := pgstore.AsJSON(c.Definition)
	if err != nil {
		w.t.Fatal(err)
	}
	id := scan[int64](w.t, w.conn, `SELECT conch.cron_revise($1, $2, $3, $4)`, c.Name, definition, c.Retired, filed)
	if got := w.world.Revise(c, time.Now()); got != id {
		w.t.Fatalf("cron %d is %d in the world", id, got)
	}
}

// endsJob has a worker take all jobs, and end the one that holds a cron's lane.
func (w *twins) endsJob() {
	w.t.Helper()
	all := schedule.Take{Most: 1000}
	got, err := w.s.Take(w.t.Context(), worker, []string{"default"}, all)
	if err != nil {
		w.t.Fatal(err)
	}
	want := w.world.Take(worker.Scope, worker.Epoch, []string{"default"}, all, time.Now())
	var taken [2][]int64
	for _, j := range got.Jobs {
		taken[0] = append(taken[0], w.jobs[j.ID])
	}
	for _, j := range want.Jobs {
		taken[1] = append(taken[1], j.ID)
	}
	slices.Sort(taken[0])
	slices.Sort(taken[1])
	if !slices.Equal(taken[0], taken[1]) {
		w.t.Fatalf("a worker takes %v of the store, and of the world %v", taken[0], taken[1])
	}
	ids := w.world.IDs()
	c := w.world.Cron(ids[w.rng.IntN(len(ids))])
	if head := scan[*int64](w.t, w.conn, `SELECT max(job) FROM conch.job_lanes WHERE lane = 'cron:' || $1`, c.Name); head != nil {
		tell(w.t, w.s, of(*head, 1, "done"))
		w.world.Tell([]schedule.End{of(w.jobs[*head], 1, "done")}, time.Now())
	}
}

// writes moves some crons, and deletes rows of one.
func (w *twins) writes() {
	var out core.Write
	for _, id := range w.world.IDs() {
		if w.chance(40) {
			out.Moves = append(out.Moves, w.move(w.world.Cron(id)))
		} else if w.chance(10) {
			at := w.world.Cron(id).Cursor.At
			out.Prunes = append(out.Prunes, core.Prune{Cron: id, Upto: later(at, w.base).Add(time.Duration(w.rng.IntN(4)-2) * time.Minute)})
		}
	}
	got, err := w.s.Write(w.t.Context(), leader, out)
	if err != nil {
		w.t.Fatal(err)
	}
	want := w.world.Write(out, time.Now())
	for i, e := range got.Ends {
		if i < len(want.Ends) && w.jobs[e.Job] == 0 {
			w.jobs[e.Job] = want.Ends[i].Job
		}
		got.Ends[i].Job = w.jobs[e.Job]
		w.ends[e.Outcome]++
	}
	if !slices.Equal(got.Moved, want.Moved) || !slices.Equal(got.Ends, want.Ends) {
		w.t.Fatalf("of %+v\nthe store answers %+v\nand the world   %+v", out, got, want)
	}
	for _, m := range out.Moves {
		if !slices.Contains(got.Moved, m.Cron) {
			w.ends["not moved"]++
		}
	}
	for _, p := range out.Prunes {
		if !slices.Contains(got.Moved, p.Cron) {
			w.ends["not pruned"]++
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// move is some move of a cron, mostly from where it stands.
func (w *twins) move(c core.Cron) core.Move {
	m := core.Move{Cron: c.ID, Was: c.Position, To: c.Cursor}
	if w.chance(40) && c.Adopted < c.Newest {
		m.Adopt, m.Since = c.Adopted+1, w.base.Add(time.Duration(w.rng.IntN(600))*time.Second)
		m.To = core.Cursor{At: m.Since}
	} else if c.Adopted > 0 {
		at := later(c.Cursor.At, w.base).Add(time.Duration(w.rng.IntN(5)-3) * time.Minute) // also back
		for range w.rng.IntN(4) {
			at = at.Add(time.Minute)
			m.Runs = append(m.Runs, core.Run{Occurrence: zone.Occurrence{At: at, Wall: at}, Revision: 1 + w.rng.IntN(c.Adopted), Begins: at.Add(time.Second)})
			m.To = core.Cursor{At: at, Wall: at}
		}
		if w.chance(30) {
			m.Gap = &core.Gap{From: at, To: at.Add(time.Minute), Count: 2, Why: core.WhyLate}
		}
	}
	if n := len(m.Runs); n > 0 && w.chance(10) {
		m.Runs[n-1].At = time.Now().UTC().Truncate(time.Second).Add(time.Hour)
	}
	if w.chance(70) {
		return m
	}
	switch w.rng.IntN(4) {
	case 0:
		m.Was.Cursor.At = m.Was.Cursor.At.Add(time.Second)
	case 1:
		m.Was.Cursor.Wall = w.base
	case 2:
		m.Was.Adopted++
	case 3:
		m.Was.Newest--
	}
	return m
}

// learn reads both. When a new revision was written, each says by its own clock.
func (w *twins) learn() {
	w.t.Helper()
	got, want := w.read().Crons, w.world.Read(core.Read{}, time.Now()).Crons
	for i, c := range got {
		for n, r := range c.Revisions {
			of := [2]int64{c.ID, int64(r.N)}
			if i < len(want) && n < len(want[i].Revisions) && !w.known[of] {
				w.known[of] = true
				w.world.Cron(c.ID).Revisions[r.N-1].Since, want[i].Revisions[n].Since = r.Since, r.Since
			}
		}
	}
	if !reflect.DeepEqual(got, want) {
		w.t.Fatalf("the store has %+v\nand the world %+v", got, want)
	}
}

// sameRows compares what was run and what was passed over.
func (w *twins) sameRows() {
	w.t.Helper()
	for _, id := range w.world.IDs() {
		var want string
		rows, gaps := w.world.Rows(id)
		for _, r := range rows {
			want += fmt.Sprintf("%d%s%d ", r.Run.At.Unix(), r.Outcome, r.Revision)
		}
		for _, g := range gaps {
			want += fmt.Sprintf("%d-%d %d%s ", g.From.Unix(), g.To.Unix(), g.Count, g.Why)
		}
		got := scan[string](w.t, w.conn, `SELECT
			coalesce((SELECT string_agg(extract(epoch FROM at)::bigint || outcome || revision || ' ', '' ORDER BY at) FROM conch.cron_runs WHERE cron = $1), '') ||
			coalesce((SELECT string_agg(extract(epoch FROM from_at)::bigint || '-' || extract(epoch FROM to_at)::bigint || ' ' || count || why || ' ', '' ORDER BY g.ctid) FROM conch.cron_gaps g WHERE cron = $1), '')`, id)
		if got != want {
			w.t.Errorf("of cron %d the store has %s\nand the world %s", id, got, want)
		}
	}
}
