package belfry

import (
	"fmt"
	"time"

	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/schedule/internal/core"
	"github.com/conchhq/conch/schedule/internal/tables"
)

const (
	// keep is for how long rows are kept.
	keep = 30 * time.Minute
	// lease is how long a leader may be silent.
	lease = 3 * time.Second
	// quiet is how long nothing is wrong at the end.
	quiet = time.Hour
)

// begins is what the database's clock reads at the begin: some clocks of Europe change three hours later.
var begins = time.Date(2026, 10, 24, 22, 0, 0, 0, time.UTC)

// run is one belfry in its world.
type run struct {
	world.Run
	cfg    Config
	w      *world.World
	nodes  []*node
	tables *tables.Tables
	wrong  time.Duration // by how much the database's clock is ahead
	away   bool          // the database
	cut    map[string]bool
	epoch  int64
	leader *node // of that epoch
	posts  []*post
	works  []*work // that go on
	calm   bool
	judge
}

// Run runs a belfry and returns its report. The configuration must be valid.
func Run(cfg Config) world.Report {
	r := newRun(complete(cfg))
	r.nodes[0].old = r.cfg.Seed%3 == 0
	for _, one := range files[0] {
		one.Name = "own-" + one.Name
		r.revise(core.Change{Definition: one})
	}
	for _, n := range r.nodes {
		n.start()
	}
	r.w.Again(time.Second, r.fault)
	end := time.Duration(r.cfg.Hours) * time.Hour
	r.w.After(end, r.ends)
	r.Until(end+quiet, nil)
	r.conclude()
	r.allEnded()
	return r.Report()
}

func newRun(cfg Config) *run {
	begun := Simulator().Begin(cfg)
	r := &run{Run: begun, cfg: cfg, w: begun.World(), tables: tables.New(), cut: map[string]bool{}, judge: newJudge()}
	r.Sites = []string{database}
	for i, name := range r.Names {
		r.posts = append(r.posts, &post{scope: fmt.Sprint("worker/", i+1)})
		r.nodes = append(r.nodes, &node{r: r, name: name, clock: r.w.NewClock(int64(i+1)*int64(time.Hour), int64(r.w.Pick(200)-100))})
	}
	r.w.Again(lease, r.elect)
	r.w.Again(lease/3, r.electPosts)
	return r
}

// now is what the database's clock reads.
func (r *run) now() time.Time { return begins.Add(r.w.Now() + r.wrong).Truncate(time.Microsecond) }

// elect makes another leader where the last one is silent.
func (r *run) elect() time.Duration {
	if l := r.leader; l != nil && l.core != nil && l.speaks() {
		return lease
	}
	var able []*node
	for _, n := range r.nodes {
		if n.speaks() && n.core == nil {
			able = append(able, n)
		}
	}
	if r.leader = nil; len(able) > 0 {
		r.epoch++
		r.leader = able[r.w.Pick(len(able))]
		r.leader.lead(r.epoch)
	}
	return lease
}

// take has the database carry a statement of a leader out.
func (r *run) take(n *node, epoch int64, act core.Act) core.Input {
	switch act := act.(type) {
	case core.Read:
		return n.outdated(r.tables.Read(act, r.now()))
	case core.Write:
		if epoch != r.epoch && r.cfg.Break != ruleFence {
			return core.Failed{Why: errStale}
		}
		for _, p := range act.Prunes {
			r.pruned(n, p)
		}
		w, now := r.tamper(act, r.now())
		out := r.tables.Write(w, now)
		if len(out.Ends) > 0 {
			r.wake()
		}
		r.written(n, epoch, w, out)
		return out
	}
	return nil
}

// revise adds a revision, as a user does by a statement of his own.
func (r *run) revise(c core.Change) {
	if r.away {
		return
	}
	id := r.tables.Revise(c, r.now())
	r.Stats["revisions"]++
	if r.leader != nil && r.leader.core != nil && r.w.Chance(0.7) {
		r.leader.after(10*time.Millisecond, func() { r.leader.step(core.Changed{Crons: []int64{id}}) })
	}
}
