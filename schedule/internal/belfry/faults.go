package belfry

import (
	"fmt"
	"time"

	"github.com/conchhq/conch/schedule/internal/core"
	"github.com/conchhq/conch/schedule/internal/tables"
)

const berlin = "Europe/Berlin"

// cron is a cron with what is usual.
func cron(name, schedule, catchUp, overlap string) core.Definition {
	return core.Definition{
		Name: name, Schedule: schedule, Timezone: "UTC", CatchUp: catchUp, Overlap: overlap, Limit: 30, Late: time.Minute, Waits: 1, Jitter: time.Second, Retries: 2,
	}
}

// files are the crons of configuration files, by version.
var files = [][]core.Definition{
	{cron("minutely", "* * * * *", core.None, core.Skip), cron("fast", "*/20 * * * * *", core.Latest, core.Allow), summer},
	{cron("minutely", "* * * * *", core.None, core.Skip), cron("fast", "*/30 * * * * *", core.All, core.Queue), summer, cron("more", "*/5 * * * *", core.All, core.Queue)},
}

// summer is a cron whose hours come twice in the night in which the clocks change.
var summer = func() core.Definition {
	c := cron("night", "*/10 1-3 * * *", core.All, core.Allow)
	c.Timezone = berlin
	return c
}()

// add has a user add jobs, and cancel one of them.
func (r *run) add() {
	if r.Away {
		return
	}
	for i := range 3 {
		j := tables.Job{Retries: 3, Priority: r.W.Pick(4)}
		j.Fenced = r.W.Chance(0.3)
		if j.Args = []byte("{}"); i == 0 && r.W.Chance(0.3) {
			j.Args = []byte(poison)
		}
		if r.W.Chance(0.5) {
			j.Lane = "lane"
		}
		now := r.Clock()
		id, _ := r.tables.Add(j, now.Add(r.W.Between(-time.Minute, time.Minute)), now, -1)
		r.wake()
		if i == 1 {
			r.Later(r.W.Between(0, time.Minute), func() { r.cancel(id) })
		}
	}
}

func (r *run) cancel(id int64) {
	if j := r.tables.Job(id); !r.Away && j.State != tables.Over && j.State != tables.Dead {
		r.cancels[id] = 0
		if r.tables.Cancel(id, r.Clock()); j.State == tables.Taken {
			r.cancels[id] = j.Attempt
		}
	}
}

// user changes a cron, or makes one.
func (r *run) user() {
	living := r.tables.Living()
	l := living[r.W.Pick(len(living))]
	c := core.Change{ID: l.ID, Definition: l.Definition}
	switch pick := r.W.Pick(6); {
	case pick < 2:
		c.Paused = !c.Paused
	case l.Filed:
		return
	case pick == 2 && len(living) > 3:
		c.Retired = true
		r.Later(r.W.Between(0, 10*time.Minute), func() { r.revise(core.Change{Definition: l.Definition}) })
	default:
		c.Schedule = []string{"* * * * *", "*/3 * * * *", "30 * * * *", "*/15 * * * * *", "@every 7m"}[r.W.Pick(5)]
		c.CatchUp = []string{core.None, core.Latest, core.All}[r.W.Pick(3)]
	}
	r.revise(c)
}

// revise adds a revision, as a user does by a statement of his own.
func (r *run) revise(c core.Change) {
	if r.Away {
		return
	}
	id := r.tables.Revise(c, r.Clock())
	r.Stats["revisions"]++
	if r.First == nil {
		return
	}
	if n := r.nodes[r.First.Index]; n.core != nil && r.W.Chance(0.7) {
		n.After(10*time.Millisecond, func() { n.step(core.Changed{Crons: []int64{id}}) })
	}
}

// hear tells what a leader tells its user.
func (r *run) hear(n *node, fact any) {
	switch f := fact.(type) {
	case core.Ran:
		if r.Told() {
			n.Tells("%s of %s is %s", clock(f.At), f.Name, f.Outcome)
		}
	case core.PassedOver:
		n.Tells("%s: %d times from %s to %s are passed over: %s", f.Name, f.Count, clock(f.From), clock(f.To), f.Why)
	case core.ClockBack:
		r.Stats["clock_back"]++
		n.Tells("%s goes back from %s to %s", f.Name, clock(f.From), clock(f.To))
	}
}

func key(id int64, revision int, at time.Time) string {
	return fmt.Sprint(id, revision, at.Unix(), at.Nanosecond())
}

func clock(t time.Time) string { return t.Format(time.TimeOnly) }
