// Package tables has the tables of crons and jobs in memory, and what the statements of a store do with them: each call is one transaction. The
// simulated world and the tests of the loops work on it.
package tables

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/schedule/internal/core"
)

// Tables has all crons, and what came of their times.
type Tables struct {
	crons   map[int64]*cron
	last    int64 // id of a cron
	jobs    map[int64]*Job
	open    map[int64]*Job     // those of them that have not ended
	lanes   map[string][]int64 // the jobs of each: first the one that holds it, then those that wait
	version int64              // of the file that counts
	started time.Time
	told    time.Time // since when jobs may be due of which nobody was told; zero: none
}

// cron is a cron with its rows.
type cron struct {
	core.Cron  // with all revisions
	filed      bool
	rows       map[int64]Row // by the microsecond, as Postgres has it
	gaps       []core.Gap
	definition core.Definition
	retired    bool
}

// Row is a scheduled time that was run, or skipped.
type Row struct {
	core.Run
	core.End
}

// New returns empty tables.
func New() *Tables {
	return &Tables{crons: map[int64]*cron{}, jobs: map[int64]*Job{}, open: map[int64]*Job{}, lanes: map[string][]int64{}}
}

// Read reads crons, by a clock of the database.
func (t *Tables) Read(r core.Read, now time.Time) core.Loaded {
	out := core.Loaded{At: now}
	for _, id := range t.IDs() {
		c := t.crons[id]
		gone := c.retired && c.Adopted == c.Newest
		if !gone && (id > r.Known || c.Adopted != c.Newest || slices.Contains(r.Crons, id)) {
			one := c.Cron
			one.Revisions = slices.Clone(one.Revisions[max(one.Adopted-1, 0):])
			out.Crons = append(out.Crons, one)
		}
	}
	return out
}

// Write carries a write out. A move of a cron that stands elsewhere, or of which a time lies ahead of the clock, is left out.
func (t *Tables) Write(w core.Write, now time.Time) core.Written {
	out := core.Written{At: now}
	for _, m := range w.Moves {
		c := t.crons[m.Cron]
		if c == nil || c.Position != m.Was || slices.ContainsFunc(m.Runs, func(r core.Run) bool { return r.At.After(now) }) {
			continue
		}
		out.Moved = append(out.Moved, m.Cron)
		for _, r := range m.Runs {
			out.Ends = append(out.Ends, t.run(c, r, now))
		}
		if m.Gap != nil {
			c.gaps = append(c.gaps, *m.Gap)
		}
		if c.Cursor = m.To; m.Adopt > 0 {
			c.Adopted, c.Revisions[m.Adopt-1].Since = m.Adopt, m.Since
		}
	}
	for _, p := range w.Prunes {
		if c := t.crons[p.Cron]; c != nil {
			if !p.Upto.After(c.Cursor.At) {
				out.Moved = append(out.Moved, p.Cron)
				c.Floor = p.Upto
			}
			maps.DeleteFunc(c.rows, func(at int64, _ Row) bool { return at <= c.Floor.UnixMicro() })
		}
	}
	return out
}

// run gives a time its row, and a job unless one of an earlier time stands in the way. A time that has a row already has had its job.
func (t *Tables) run(c *cron, r core.Run, now time.Time) core.End {
	if row, is := c.rows[r.At.UnixMicro()]; is {
		return core.End{Cron: c.ID, At: r.At, Outcome: core.Existing, Job: row.Job}
	}
	d := c.Revisions[r.Revision-1]
	j := Job{Retries: d.Retries, Priority: d.Priority}
	j.Queue, j.Cron, j.At, j.Timeout, j.Fenced = d.Queue, c.Name, r.At, d.Timeout, d.Fenced
	waits := -1
	if d.Overlap != core.Allow {
		j.Lane, waits = "cron:"+c.Name, 0
	}
	if d.Overlap == core.Queue {
		waits = d.Waits
	}
	e := core.End{Cron: c.ID, At: r.At, Outcome: core.Enqueued}
	var is bool
	if e.Job, is = t.Add(j, r.Begins, now, waits); !is {
		e.Outcome = core.Skipped
	}
	c.rows[r.At.UnixMicro()] = Row{Run: r, End: e}
	return e
}

// Declare carries out what a file asks for, unless another file counts.
func (t *Tables) Declare(f core.File, now time.Time) {
	if !f.Replaces(t.version, t.started) {
		return
	}
	t.version, t.started = f.Version, f.Started
	for _, change := range f.Changes(t.Living()) {
		t.crons[t.Revise(change, now)].filed = true
	}
}

// Revise adds a revision, and returns the cron's id.
func (t *Tables) Revise(change core.Change, now time.Time) int64 {
	c := t.crons[change.ID]
	if c == nil {
		t.last++
		c = &cron{Cron: core.Cron{ID: t.last, Name: change.Name}, rows: map[int64]Row{}}
		t.crons[t.last] = c
	}
	c.Newest++
	c.definition, c.retired = change.Definition, change.Retired
	c.Revisions = append(c.Revisions, core.Revision{N: c.Newest, Definition: change.Definition, Retired: change.Retired, Since: now})
	return c.ID
}

// Living lists the crons that are not retired.
func (t *Tables) Living() (all []core.Living) {
	for _, id := range t.IDs() {
		if c := t.crons[id]; !c.retired {
			all = append(all, core.Living{ID: id, Definition: c.definition, Filed: c.filed})
		}
	}
	return all
}

// IDs lists all crons, in their order.
func (t *Tables) IDs() []int64 { return slices.Sorted(maps.Keys(t.crons)) }

// Cron returns a cron with all its revisions.
func (t *Tables) Cron(id int64) core.Cron { return t.crons[id].Cron }

// Rows lists the rows of a cron by their time, and its gaps.
func (t *Tables) Rows(id int64) (rows []Row, gaps []core.Gap) {
	c := t.crons[id]
	rows = slices.SortedFunc(maps.Values(c.rows), func(a, b Row) int { return cmp.Compare(a.Run.At.UnixMicro(), b.Run.At.UnixMicro()) })
	return rows, slices.Clone(c.gaps)
}

// Forget deletes the row of a time, as if it had never been written: a world shows so what the key is for.
func (t *Tables) Forget(id int64, at time.Time) { delete(t.crons[id].rows, at.UnixMicro()) }
