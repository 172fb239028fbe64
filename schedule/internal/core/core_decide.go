package core

import (
	"time"

	"github.com/conchhq/conch/internal/splitmix"
	"github.com/conchhq/conch/schedule/zone"
)

const (
	// MostRuns is how many rows one cron gets in a write at most.
	MostRuns = 100
	// MostCounted is where the count of a gap ends.
	MostCounted = 10_000
	// ahead is how far an instant that was stored lies ahead of the database's clock at most, unless the clock was set back since.
	ahead = time.Minute
)

// cron is a cron as the core knows it.
type cron struct {
	Cron
	when  zone.Schedule // of the revision in force
	wrong error         // why this node cannot read that; another one may
	wakes time.Time     // when something is due by it, or the next revision begins; zero: never
}

// read reads the revision in force.
func (c *cron) read() {
	c.when, c.wrong = zone.Schedule{}, nil
	if r, is := c.inForce(); is {
		c.when, c.wrong = zone.Parse(r.Schedule, r.Timezone, r.Since)
	}
	c.sleep()
}

// sleep notes when the cron wants to be looked at again.
func (c *cron) sleep() {
	c.wakes = time.Time{}
	if r, is := c.inForce(); is && !r.Paused {
		if o, is := c.following(c.Cursor.At); is {
			c.wakes = o.At
		}
	}
	if next, is := c.next(); is && (c.wakes.IsZero() || next.Since.Before(c.wakes)) {
		c.wakes = next.Since
	}
}

// inForce returns the revision in force; false if nothing can be due by it.
func (c *cron) inForce() (Revision, bool) {
	if c.Adopted == 0 || c.Revisions[0].Retired {
		return Revision{}, false
	}
	return c.Revisions[0], true
}

// decide returns what a cron does now, by the database's clock; false if nothing. Times that were missed up to when the rows of a backup were found may have been run.
func (c *cron) decide(now, restored time.Time) (Move, bool) {
	m := Move{Cron: c.ID, Was: c.Position, To: c.Cursor}
	next, ends := c.next()
	if !ends && c.Cursor.At.After(now.Add(ahead)) { // the clock was set back: what was done up to there has its rows
		m.To = Cursor{At: later(now, c.Floor)}
		return m, !m.To.At.Equal(c.Cursor.At)
	}
	end := now
	if ends && next.Since.After(now.Add(ahead)) { // it was written while the clock was ahead
		next.Since = now
	}
	if ends {
		end = earlier(now, next.Since)
	}
	settled := c.settle(&m, now, end, restored)
	if ends && settled && !next.Since.After(now) {
		m.Adopt, m.Since, m.To = next.N, next.Since, Cursor{At: later(next.Since, c.Floor)}
	}
	return m, m.Adopt > 0 || m.To != m.Was.Cursor
}

// next returns the revision after the one in force.
func (c *cron) next() (Revision, bool) {
	for _, r := range c.Revisions {
		if r.N > c.Adopted {
			return r, true
		}
	}
	return Revision{}, false
}

// settle gives each time up to an instant a row, or passes it over, and reports whether that was all.
func (c *cron) settle(m *Move, now, end, restored time.Time) bool {
	r, is := c.inForce()
	_, ends := c.next()
	switch {
	case !is || !end.After(c.Cursor.At):
		return true
	case c.wrong != nil:
		if ends {
			m.Gap = &Gap{From: c.Cursor.At, To: end, Why: WhyUnreadable}
		}
		return true
	case r.Paused:
		if ends {
			c.pass(m, end, WhyPaused)
		}
		return true
	}
	missed := earlier(end, now.Add(-r.Late-1))
	onTime := c.list(later(c.Cursor.At, missed), end, MostRuns+1)
	keep, why := 0, WhyLate
	if c.Cursor.At.Before(restored) {
		why = WhyRestored
	}
	switch {
	case r.CatchUp == All && why != WhyRestored:
		keep, why = r.Limit, WhyLimit
	case r.CatchUp != None && len(onTime) == 0:
		keep = 1
	}
	rows := append(c.newest(missed, keep), onTime...)
	if upto := missed; upto.After(c.Cursor.At) {
		if len(rows) > 0 {
			upto = rows[0].At.Add(-1)
		}
		c.pass(m, upto, why)
	}
	settled := len(rows) <= MostRuns
	for _, o := range rows[:min(len(rows), MostRuns)] {
		m.Runs = append(m.Runs, Run{Occurrence: o, Revision: r.N, Begins: o.At.Add(c.jitter(r, o.At))})
		m.To = Cursor{At: o.At, Wall: o.Wall}
	}
	return settled
}

// pass notes the times up to an instant, if there are any, as passed over.
func (c *cron) pass(m *Move, upto time.Time, why string) {
	all := c.list(c.Cursor.At, upto, MostCounted)
	if len(all) == 0 {
		return
	}
	last := all[len(all)-1]
	if len(all) == MostCounted {
		last = c.newest(upto, 1)[0]
	}
	m.Gap = &Gap{From: all[0].At, To: last.At, Count: len(all), Why: why}
	m.To = Cursor{At: last.At, Wall: last.Wall}
}

// list lists the times after an instant and up to another one, so many at most.
func (c *cron) list(after, upto time.Time, most int) (all []zone.Occurrence) {
	for len(all) < most {
		o, is := c.following(after)
		if !is || o.At.After(upto) {
			break
		}
		all, after = append(all, o), o.At
	}
	return all
}

// following returns the first time after an instant. One whose wall-clock time was run by another node, whose zone data differ, is none.
func (c *cron) following(after time.Time) (zone.Occurrence, bool) {
	for {
		o, is := c.when.Next(after)
		if !is || o.Wall.IsZero() || o.Wall.After(c.Cursor.Wall) {
			return o, is
		}
		after = o.At
	}
}

// newest lists the last times of those after the cursor and up to an instant. It looks at spans that double: a year of missed seconds
// costs no more than a day of them.
func (c *cron) newest(upto time.Time, count int) []zone.Occurrence {
	if count == 0 {
		return nil
	}
	for span := time.Duration(count) * time.Second; ; span *= 2 {
		from := later(c.Cursor.At, upto.Add(-span))
		all := c.list(from, upto, int(span/time.Second)+1)
		if len(all) >= count || !from.After(c.Cursor.At) {
			return all[max(len(all)-count, 0):]
		}
	}
}

// jitter is by how much the job of a time begins later. It is the same at each node.
func (c *cron) jitter(r Revision, at time.Time) time.Duration {
	if r.Jitter <= 0 {
		return 0
	}
	return time.Duration(splitmix.Mix(uint64(c.ID), uint64(at.Unix())) % uint64(r.Jitter))
}

// isDue reports whether there may be something to decide: the time has come, or the clock was set back.
func (c *cron) isDue(now time.Time) bool {
	next, ends := c.next()
	return !c.wakes.IsZero() && !c.wakes.After(now) || ends && next.Since.After(now.Add(ahead)) ||
		!ends && c.Cursor.At.After(now.Add(ahead)) && c.Cursor.At.After(c.Floor)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// moved is where a cron stands after a move.
func (c *cron) moved(m Move) {
	c.Cursor = m.To
	if m.Adopt > 0 {
		c.Adopted = m.Adopt
		for c.Revisions[0].N < m.Adopt {
			c.Revisions = c.Revisions[1:]
		}
		c.Revisions[0].Since = m.Since
		c.read()
		return
	}
	c.sleep()
}
