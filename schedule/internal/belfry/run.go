package belfry

import (
	"fmt"
	"time"

	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/internal/world/site"
	"github.com/conchhq/conch/schedule/internal/core"
	"github.com/conchhq/conch/schedule/internal/tables"
)

const (
	// keep is for how long rows are kept.
	keep = 30 * time.Minute
	// lease is how long a leader may be silent.
	lease = 3 * time.Second
)

// begins is what the clocks read at the begin: some clocks of Europe change three hours later.
var begins = time.Date(2026, 10, 24, 22, 0, 0, 0, time.UTC)

// run is one belfry in its world.
type run struct {
	*site.Site
	cfg    Config
	nodes  []*node
	old    bool // the first node knows old rules of a zone
	tables *tables.Tables
	works  []*work // that go on
	judge
}

// Run runs a belfry and returns its report. The configuration must be valid.
func Run(cfg Config) world.Report {
	r := newRun(Simulator().Complete(cfg))
	for _, one := range files[0] {
		one.Name = "own-" + one.Name
		r.revise(core.Change{Definition: one})
	}
	for _, n := range r.nodes {
		n.Start()
	}
	r.Go(time.Duration(r.cfg.Hours)*time.Hour, time.Hour, r.ends)
	r.conclude()
	r.allEnded()
	return r.Report()
}

func newRun(cfg Config) *run {
	r := &run{cfg: cfg, old: cfg.Seed%3 == 0 && !cfg.Telling.On(), tables: tables.New(), judge: newJudge()}
	r.Site = site.New(Simulator().Begin(cfg), lease, begins, site.Wing{
		Starts: func(n *site.Node, again bool) { r.nodes[n.Index].starts(again) },
		Dies:   func(n *site.Node) { r.nodes[n.Index].dies() },
		Leads:  func(n *site.Node) bool { return r.nodes[n.Index].core != nil },
		Lead:   func(n *site.Node) { r.nodes[n.Index].lead() },
		Steady: r.old, Stepped: r.stepped,
		Faults: []func(){r.add, r.add, r.user, r.user, r.user},
	})
	var posts []string
	for i, n := range r.All {
		posts = append(posts, fmt.Sprint("worker/", i+1))
		one := &node{Node: n, r: r}
		one.alarm = n.NewAlarm(func() { one.step(core.Tick{}) })
		r.nodes = append(r.nodes, one)
	}
	r.Lease(posts, r.sits)
	return r
}

// ends ends all faults, and judges a few minutes later what should be right at once.
func (r *run) ends() {
	r.EndFaults()
	r.calmed = r.Clock()
	r.W.After(3*time.Minute, r.conclude)
}

// take has the database carry a statement of a leader out.
func (r *run) take(n *node, epoch int64, act core.Act) core.Input {
	switch act := act.(type) {
	case core.Read:
		return n.outdated(r.tables.Read(act, r.Clock()))
	case core.Write:
		if epoch != r.Epoch && r.cfg.Break != ruleFence {
			return core.Failed{Why: errStale}
		}
		for _, p := range act.Prunes {
			r.pruned(n, p)
		}
		w, now := r.tamper(act, r.Clock())
		out := r.tables.Write(w, now)
		if len(out.Ends) > 0 {
			r.wake()
		}
		r.written(n, epoch, w, out)
		return out
	}
	return nil
}
