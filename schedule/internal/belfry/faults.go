package belfry

import (
	"fmt"
	"time"

	"github.com/conchhq/conch/schedule/internal/core"
	"github.com/conchhq/conch/schedule/internal/tables"
)

const (
	database = "database"
	berlin   = "Europe/Berlin"
)

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

// fault has something go wrong, and calls itself again.
func (r *run) fault() time.Duration {
	if r.calm {
		return 0
	}
	n := r.nodes[r.w.Pick(len(r.nodes))]
	if r.leader != nil && r.w.Chance(0.5) {
		n = r.leader
	}
	wait := r.w.Between(0, 2*time.Minute)
	switch r.w.Pick(12) {
	case 0:
		r.kill(n, wait)
	case 1:
		r.freeze(n, r.w.Between(0, 20*time.Second))
	case 2:
		r.freeze(n, r.w.Between(0, 100*time.Millisecond))
	case 3:
		if r.w.Chance(0.2) {
			wait = r.w.Between(0, 40*time.Minute)
		}
		if r.w.Chance(0.5) {
			for _, n := range r.nodes {
				r.kill(n, wait)
			}
		} else if !r.away {
			r.outage(true)
			r.later(wait, func() { r.outage(false) })
		}
	case 4:
		n.wrong = r.step()
	case 5:
		if !r.nodes[0].old && r.wrong == 0 {
			r.setClock(r.step())
			r.later(r.w.Between(0, 20*time.Minute), func() { r.setClock(0) })
		}
	case 6:
		r.cutOff(n, r.w.Between(0, 20*time.Second))
	case 7, 8:
		r.add()
	default:
		r.user()
	}
	return r.w.Between(0, 5*time.Minute)
}

// step draws by how much a clock is wrong.
func (r *run) step() time.Duration {
	d := []time.Duration{30 * time.Second, 10 * time.Minute, time.Hour}[r.w.Pick(3)]
	if r.w.Chance(0.5) {
		return -d
	}
	return d
}

// add has a user add jobs, and cancel one of them.
func (r *run) add() {
	if r.away {
		return
	}
	for i := range 3 {
		j := tables.Job{Retries: 3, Fenced: r.w.Chance(0.3), Priority: r.w.Pick(4)}
		if j.Args = []byte("{}"); i == 0 && r.w.Chance(0.3) {
			j.Args = []byte(poison)
		}
		if r.w.Chance(0.5) {
			j.Lane = "lane"
		}
		now := r.now()
		id, _ := r.tables.Add(j, now.Add(r.w.Between(-time.Minute, time.Minute)), now, -1)
		r.wake()
		if i == 1 {
			r.later(r.w.Between(0, time.Minute), func() { r.cancel(id) })
		}
	}
}

func (r *run) cancel(id int64) {
	if j := r.tables.Job(id); !r.away && j.State != tables.Over && j.State != tables.Dead {
		r.cancels[id] = 0
		if r.tables.Cancel(id, r.now()); j.State == tables.Taken {
			r.cancels[id] = j.Attempt
		}
	}
}

// cutOff cuts a node off from the database, which ends its sessions.
func (r *run) cutOff(n *node, d time.Duration) {
	if !r.cut[n.name] {
		r.cut[n.name] = true
		r.later(d, func() { r.cut[n.name] = false })
	}
}

// user changes a cron, or makes one.
func (r *run) user() {
	living := r.tables.Living()
	l := living[r.w.Pick(len(living))]
	c := core.Change{ID: l.ID, Definition: l.Definition}
	switch pick := r.w.Pick(6); {
	case pick < 2:
		c.Paused = !c.Paused
	case l.Filed:
		return
	case pick == 2 && len(living) > 3:
		c.Retired = true
		r.later(r.w.Between(0, 10*time.Minute), func() { r.revise(core.Change{Definition: l.Definition}) })
	default:
		c.Schedule = []string{"* * * * *", "*/3 * * * *", "30 * * * *", "*/15 * * * * *", "@every 7m"}[r.w.Pick(5)]
		c.CatchUp = []string{core.None, core.Latest, core.All}[r.w.Pick(3)]
	}
	r.revise(c)
}

func (r *run) later(d time.Duration, do func()) {
	r.w.After(d, func() {
		if !r.calm {
			do()
		}
	})
}

func (r *run) kill(n *node, wait time.Duration) {
	if !n.up {
		return
	}
	r.tell(n, "dies")
	n.kill()
	r.later(wait, func() {
		n.file = r.w.Pick(len(files)) // in a deployment that goes on and on, and back
		n.start()
	})
}

func (r *run) freeze(n *node, d time.Duration) {
	if n.up && !n.frozen {
		n.frozen, n.froze = true, r.w.Now()
		life := n.life
		r.later(d, func() {
			if n.life == life && n.frozen {
				n.thaw()
			}
		})
	}
}

func (r *run) outage(is bool) {
	r.tell(nil, "the database is %s", map[bool]string{true: "away", false: "there again"}[is])
	r.away = is
}

func (r *run) setClock(wrong time.Duration) {
	r.wrong = wrong
	r.tell(nil, "the database's clock reads %s", clock(r.now()))
	for id, low := range r.lowest {
		if r.now().Before(low) {
			r.lowest[id] = r.now()
		}
	}
}

// ends ends all faults, and judges a few minutes later what should be right at once.
func (r *run) ends() {
	r.tell(nil, "nothing is wrong any more")
	r.calm, r.away = true, false
	clear(r.cut)
	r.setClock(0)
	for _, n := range r.nodes {
		if n.wrong = 0; !n.up {
			n.start()
		} else if n.frozen {
			n.thaw()
		}
	}
	r.calmed = r.now()
	r.w.After(3*time.Minute, r.conclude)
}

func (r *run) tell(n *node, text string, args ...any) {
	who := "world"
	if n != nil {
		who = n.name
	}
	r.Tell(r.w.Now(), who, fmt.Sprintf(text, args...))
}

// hear tells what a leader tells its user.
func (r *run) hear(n *node, fact any) {
	switch f := fact.(type) {
	case core.Ran:
		if r.Told() {
			r.tell(n, "%s of %s is %s", clock(f.At), f.Name, f.Outcome)
		}
	case core.PassedOver:
		r.tell(n, "%s: %d times from %s to %s are passed over: %s", f.Name, f.Count, clock(f.From), clock(f.To), f.Why)
	case core.ClockBack:
		r.Stats["clock_back"]++
		r.tell(n, "%s goes back from %s to %s", f.Name, clock(f.From), clock(f.To))
	}
}

func key(id int64, revision int, at time.Time) string {
	return fmt.Sprint(id, revision, at.Unix(), at.Nanosecond())
}

func clock(t time.Time) string { return t.Format("15:04:05") }
