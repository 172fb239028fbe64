package belfry

import (
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/schedule/internal/core"
	"github.com/conchhq/conch/schedule/internal/tables"
	"github.com/conchhq/conch/schedule/internal/worker"
	"github.com/conchhq/conch/schedule/zone"
)

// judge remembers every row, also those that are deleted.
type judge struct {
	ats      map[string]bool      // by cron and instant
	walls    map[string]bool      // by cron, revision and wall clock
	gaps     map[int64][]core.Gap // by cron
	lowest   map[int64]time.Time  // by cron: what the clock has read at least since its revision was adopted
	rows     map[string]int       // by name of a cron
	passed   map[string]int       // the same, of times that were passed over
	declared int                  // the highest version of a file
	calmed   time.Time            // since when nothing is wrong; zero: something is
	begins   map[int64]int        // how often a job has begun
	effects  map[int64]int        // how often it has had its effect
	cancels  map[int64]int        // the attempt that was under way when it was cancelled; 0: none was
}

func newJudge() judge {
	return judge{
		ats: map[string]bool{}, walls: map[string]bool{}, gaps: map[int64][]core.Gap{}, lowest: map[int64]time.Time{},
		rows: map[string]int{}, passed: map[string]int{}, begins: map[int64]int{}, effects: map[int64]int{}, cancels: map[int64]int{},
	}
}

// written judges what a leader has written.
func (r *run) written(n *node, epoch int64, w core.Write, out core.Written) {
	r.Check(epoch == r.Epoch, Leader, "%s writes with epoch %d in epoch %d", n.Name, epoch, r.Epoch)
	ends := out.Ends
	for _, m := range w.Moves {
		if !slices.Contains(out.Moved, m.Cron) {
			continue
		}
		c := r.tables.Cron(m.Cron)
		for _, one := range m.Runs {
			if e := ends[0]; e.Outcome != core.Existing {
				r.row(c, one, r.Clock())
			}
			ends = ends[1:]
		}
		if g := m.Gap; g != nil {
			r.gaps[c.ID] = append(r.gaps[c.ID], *g)
			r.passed[c.Name] += g.Count
			if late := c.Revisions[max(m.Was.Adopted-1, 0)].Late; g.Why != core.WhyPaused {
				r.Check(!g.To.After(out.At.Add(-late)), OnTime, "%s: %s is passed over at %s", c.Name, clock(g.To), clock(out.At))
			}
		}
		if m.Adopt > 0 {
			r.lowest[c.ID] = out.At
		}
	}
}

// stepped notes that the clock may have gone back.
func (r *run) stepped() {
	for id, low := range r.lowest {
		if now := r.Clock(); now.Before(low) {
			r.lowest[id] = now
		}
	}
}

// pruned judges what is about to be deleted.
func (r *run) pruned(n *node, p core.Prune) {
	c := r.tables.Cron(p.Cron)
	r.Check(!p.Upto.After(c.Cursor.At), Kept, "%s: rows up to %s go, and the cursor is at %s", c.Name, clock(p.Upto), clock(c.Cursor.At))
	old := r.True().Add(-keep)
	r.Check(!p.Upto.After(old) || n.Wrong > 0, Kept, "%s: rows up to %s go, and those up to %s are old", c.Name, clock(p.Upto), clock(old))
	if p.Upto.Before(c.Cursor.At) {
		r.settled(c, p.Upto)
	}
}

// row judges a row that is new.
func (r *run) row(c core.Cron, one core.Run, now time.Time) {
	r.Stats["rows"]++
	r.rows[c.Name]++
	of := c.Revisions[one.Revision-1]
	r.Check(!r.ats[key(c.ID, 0, one.At)], Once, "%s: %s has a second row", c.Name, clock(one.At))
	r.Check(one.Wall.IsZero() || !r.walls[key(c.ID, of.N, one.Wall)], Once, "%s: %s of the wall clock has a second row", c.Name, clock(one.Wall))
	r.Check(!one.At.After(now), Due, "%s: %s has a row at %s", c.Name, clock(one.At), clock(now))
	r.Check(one.At.After(of.Since) || one.At.After(r.lowest[c.ID]), InForce, "%s: %s is run by revision %d, which is of %s", c.Name, clock(one.At), of.N, clock(of.Since))
	if of.N < c.Newest {
		next := c.Revisions[of.N].Since
		r.Check(!one.At.After(next) || next.After(now.Add(time.Minute)), InForce, "%s: %s is run by revision %d, which was replaced at %s", c.Name, clock(one.At), of.N, clock(next))
	}
	r.ats[key(c.ID, 0, one.At)] = true
	r.walls[key(c.ID, of.N, one.Wall)] = true
}

// settled judges that each time of a cron up to an instant has a row or is in a gap.
func (r *run) settled(c core.Cron, upto time.Time) {
	for i, of := range c.Revisions {
		end := upto
		if i+1 < len(c.Revisions) && c.Revisions[i+1].Since.Before(end) {
			end = c.Revisions[i+1].Since
		}
		if of.Retired || of.Paused || r.old && of.Timezone == berlin {
			continue
		}
		when, err := zone.Parse(of.Schedule, of.Timezone, of.Since)
		if err != nil {
			r.Check(false, Settled, "%s: %v", c.Name, err)
			return
		}
		from := of.Since
		if c.Floor.After(from) {
			from = c.Floor
		}
		for o, is := when.Next(from); is && !o.At.After(end); o, is = when.Next(o.At) {
			// What was replaced while the clock was ahead was settled up to there, by that clock.
			calm := !r.calmed.IsZero() && o.At.After(r.calmed.Add(2*time.Minute)) && of.N == c.Newest
			has := r.ats[key(c.ID, 0, o.At)] || !calm && r.isPassed(c.ID, o.At)
			r.Check(has, Settled, "%s: %s has no row at %s", c.Name, clock(o.At), clock(r.Clock()))
		}
	}
}

func (r *run) isPassed(id int64, at time.Time) bool {
	return slices.ContainsFunc(r.gaps[id], func(g core.Gap) bool { return !at.Before(g.From) && !at.After(g.To) })
}

// conclude judges the whole, while nothing is wrong.
func (r *run) conclude() {
	for _, id := range r.tables.IDs() {
		c := r.tables.Cron(id)
		r.Check(c.Adopted == c.Newest, Adopted, "%s: revision %d is in force at %s, and %d is of %s", c.Name, c.Adopted, clock(r.Clock()), c.Newest, clock(c.Revisions[c.Newest-1].Since))
		r.settled(c, r.Clock().Add(-10*time.Second))
	}
	file := core.File{Crons: files[r.declared]}
	for _, change := range file.Changes(r.tables.Living()) {
		r.Check(r.cfg.Telling.On(), Adopted, "%s is not as the file of version %d says", change.Name, r.declared)
	}
}

// begun judges that a handler may begin.
func (r *run) begun(w *work) {
	r.Stats["attempts"]++
	for _, o := range r.works {
		same := o.ID == w.ID || o.Lane == w.Lane && w.Lane != ""
		r.Check(!same || o.Fenced || w.Fenced, Alone, "attempt %d of job %d of %q begins at %s while attempt %d of job %d runs at %s", w.Attempt, w.ID, w.Lane, w.desk.n.Name, o.Attempt, o.ID, o.desk.n.Name)
	}
	r.Check(w.Fenced || w.desk.Acts, Doors, "attempt %d of job %d begins at %s, whose act door is shut", w.Attempt, w.ID, w.desk.n.Name)
	r.tellOf(w.desk.n, w.ID, "begins attempt %d of job %d", w.Attempt, w.ID)
	r.begins[w.ID]++
	r.Check(r.begins[w.ID] <= w.Retries+1, Counted, "job %d begins the time %d, and may be tried again %d times", w.ID, r.begins[w.ID], w.Retries)
	at, is := r.cancels[w.ID]
	r.Check(!is || w.Attempt <= at, Cancelled, "attempt %d of job %d begins, which was cancelled in attempt %d", w.Attempt, w.ID, at)
}

// tellOf tells of a job that a user has added.
func (r *run) tellOf(n *node, job int64, text string, args ...any) {
	if r.tables.Job(job).Cron == "" {
		n.Tells(text, args...)
	}
}

// ended judges the ends that a worker tells, and has the database note them.
func (r *run) ended(d *desk, ends []worker.End) worker.Told {
	ends = r.bend(ends)
	told := r.tables.Tell(ends, r.Clock())
	r.wake()
	for _, e := range ends {
		figure, how := e.Outcome, ""
		if slices.Contains(told.Over, e.Key) {
			figure, how = "over", ": it is over"
		}
		r.Stats[figure]++
		r.tellOf(d.n, e.ID, "tells that attempt %d of job %d is %s%s", e.Attempt, e.ID, e.Outcome, how)
		for _, o := range r.works {
			r.Check(how != "" || o.ID != e.ID || o.Fenced, Told, "%s tells that attempt %d of job %d is %s, while attempt %d runs at %s", d.n.Name, e.Attempt, e.ID, e.Outcome, o.Attempt, o.desk.n.Name)
		}
	}
	return told
}

// allEnded judges that every job has ended that was not due in the last minutes: one may be of an hour that the clock was ahead.
func (r *run) allEnded() {
	late := r.Clock().Add(-10 * time.Minute)
	for _, j := range r.tables.Jobs() {
		if ended := j.State == tables.Over || j.State == tables.Dead; !ended {
			r.Check(j.At.After(late) || j.Due.After(late), Ended, "job %d of %s is %s under %q, attempt %d", j.ID, clock(j.At), j.State, j.Post, j.Attempt)
		} else if j.Fenced {
			r.Check(r.effects[j.ID] == strings.Count(strings.Join(j.Outcomes, " "), worker.Done), Effect, "job %d has ended with %v, and had its effect %d times", j.ID, j.Outcomes, r.effects[j.ID])
		}
	}
}
