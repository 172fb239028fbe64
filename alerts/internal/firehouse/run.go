package firehouse

import (
	"slices"
	"time"

	"github.com/conchhq/conch/alerts/internal/core"
	"github.com/conchhq/conch/alerts/internal/tables"
	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/internal/world/site"
)

const (
	interval = 15 * time.Second
	lease    = 20 * time.Second // of the leader
	quiet    = 30 * time.Minute // without faults
	keep     = 15 * time.Minute // of samples
)

// begins is what the clocks read at the begin.
var begins = time.Date(2026, 10, 24, 22, 0, 0, 0, time.UTC)

// The receivers.
const (
	pager = "pager" // makes incidents
	chat  = "chat"  // shows texts
)

var receivers = []core.Receiver{{Name: pager, Kind: core.Keyed}, {Name: chat, Kind: core.Text}}

// The rules: extra is in the first file alone.
const (
	disk  = "disk"  // all hosts together
	queue = "queue" // each scope for itself, after some time
	extra = "extra"
)

var both = []string{pager, chat}

// file is the rules of a configuration file.
func file(n int) (all []core.Rule) {
	all = []core.Rule{
		{Name: disk, Severity: "page", Notify: both},
		{Name: queue, Severity: "warning", For: 2 * interval, Keep: interval, GroupBy: []string{"scope"}, Notify: both},
		{Name: core.AwayRule, Severity: "page", Notify: both}, {Name: core.IdleRule, Severity: "page", Notify: both},
	}
	if n == 0 {
		all = append(all, core.Rule{Name: extra, Notify: both})
	}
	return all
}

// run is one firehouse in its world.
type run struct {
	*site.Site
	cfg    Config
	nodes  []*node
	tables *tables.Tables
	judge
}

// Run runs a firehouse and returns its report. The configuration must be valid.
func Run(cfg Config) world.Report {
	r := newRun(Simulator().Complete(cfg))
	r.Say = func(who, what string) { r.Tell(r.W.Now(), who, what) }
	for _, n := range r.nodes {
		n.Start()
	}
	r.Go(time.Duration(r.cfg.Hours)*time.Hour, quiet, r.ends)
	r.conclude()
	return r.Report()
}

func newRun(cfg Config) *run {
	r := &run{cfg: cfg, tables: tables.New(), judge: newJudge()}
	r.Site = site.New(Simulator().Begin(cfg), lease, begins, site.Wing{
		Starts:  func(n *site.Node, again bool) { r.nodes[n.Index].starts(again) },
		Dies:    func(n *site.Node) { r.nodes[n.Index].dies() },
		Leads:   func(n *site.Node) bool { return r.nodes[n.Index].epoch > 0 },
		Lead:    func(n *site.Node) { r.nodes[n.Index].lead() },
		Stepped: func() {},
		Faults:  []func(){r.flip, r.flip, r.flip, r.flip, r.noData, r.silence, r.stall, r.longCut},
	})
	for _, n := range r.All {
		one := &node{Node: n, r: r}
		one.alarm = n.NewAlarm(func() { one.feed(core.Tick{}) })
		one.bell = n.NewAlarm(one.tick)
		r.nodes = append(r.nodes, one)
	}
	return r
}

// ends ends all faults. A deployment that goes on is done, too.
func (r *run) ends() {
	for _, n := range r.nodes {
		if n.file != 0 && n.Runs() {
			n.Die()
		}
		n.file = 0
	}
	r.EndFaults()
	for _, s := range r.tables.Silences(r.Clock()) {
		r.tables.Unsilence(s.ID, r.Clock())
	}
	for _, rule := range []string{disk, queue, extra} {
		r.hide(rule, false)
	}
}

// record has the database carry out what a leader records.
func (r *run) record(epoch int64, w core.Rows) any {
	if epoch != r.Epoch && r.cfg.Break != ruleFence {
		return errStale
	}
	if w.Evaluation != nil {
		if r.W.Now()-r.evaluated > 2*lease {
			r.resumed = r.W.Now()
		}
		r.evaluated = r.W.Now()
	}
	r.tables.Record(r.tamper(w), r.Clock())
	return true
}

// evaluate has the rules of a node's file evaluated.
func (r *run) evaluate(n *node, at time.Time) core.Evaluated {
	out := core.Evaluated{At: at, Looked: r.looked(n)}
	if !slices.ContainsFunc(r.nodes, func(o *node) bool { return o.file == 0 && o.listed && r.W.Now()-o.reached < time.Minute }) {
		r.lacking = r.W.Now()
	}
	for _, rule := range file(n.file) {
		if rule.Name == core.AwayRule || rule.Name == core.IdleRule {
			continue
		}
		one := core.Result{Rule: rule.Name}
		for _, c := range r.conditions {
			switch {
			case c.rule != rule.Name:
			case c.hidden && r.cfg.Break == ruleNoData:
			case c.hidden:
				one.NoData = true
			case c.is:
				one.Members = append(one.Members, core.Member{Labels: c.labels, Value: 1})
			}
		}
		out.Results = append(out.Results, one)
	}
	return out
}
