//go:build unix

package chaos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/evidence"
	"github.com/conchhq/conch/election/pgmint"
)

const (
	farewell   = 20 * time.Second // what machines get to end in order
	teardown   = 5 * time.Minute  // to read what was left behind
	historyAll = 1 << 30
)

// Run hurts a cluster of its own by the plan of a seed and judges what was left
// behind. When ctx ends it ends early, with the verdict over what happened so far.
// The error is about the run itself; what it shows is in the report.
func Run(ctx context.Context, cfg Config) (report Report, err error) {
	n := &nemesis{cfg: cfg, view: &view{out: cfg.Progress, terminal: cfg.Terminal, start: time.Now()}}
	dir, err := os.MkdirTemp("", "conch-chaos-")
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, n.clock.Remove(), os.RemoveAll(dir)) }()
	n.w = newWitness(dir)
	leftOut := n.wind(ctx)
	n.Cluster, err = Start(ctx, Place{
		Program: cfg.Program, Dir: dir, Nodes: cfg.Nodes, Lease: cfg.Lease, Takeover: cfg.Takeover, Children: true, Clock: n.clock,
	})
	defer func() { err = errors.Join(err, n.Stop()) }()
	switch {
	case ctx.Err() != nil:
		return report, context.Cause(ctx) // whatever Ctrl-C cut short has its own words for it
	case err != nil:
		return report, err
	}
	plan := n.plan(ctx, leftOut)
	n.view.note("%d faults of seed %d, on %d machines with a lease of %s; again with: %s", len(plan), cfg.Seed, cfg.Nodes, cfg.Lease, cfg.replay())
	for _, kind := range slices.Sorted(maps.Keys(leftOut)) {
		n.view.note("left out: %s: %s", kind, leftOut[kind])
	}
	if err := n.loop(ctx, plan); err != nil {
		return report, fmt.Errorf("%w; see it again with: %s", err, cfg.replay())
	}
	report, err = n.judge(context.WithoutCancel(ctx))
	report.LeftOut = leftOut
	return report, err
}

// kinds are those that were asked for.
func (n *nemesis) kinds() []Kind {
	if len(n.cfg.Kinds) > 0 {
		return n.cfg.Kinds
	}
	return Kinds()
}

func turned(k Kind) bool { return k == ClockAhead || k == ClockBack }

// wind makes a clock for the database, if it is to be turned.
func (n *nemesis) wind(ctx context.Context) map[Kind]string {
	leftOut := map[Kind]string{}
	if slices.ContainsFunc(n.kinds(), turned) {
		var err error
		if n.clock, err = NewClock(ctx); err != nil {
			leftOut[ClockAhead], leftOut[ClockBack] = err.Error(), err.Error()
		}
	}
	return leftOut
}

// plan makes the plan, of the kinds that can be done here.
func (n *nemesis) plan(ctx context.Context, leftOut map[Kind]string) []Fault {
	if n.clock != nil {
		if err := n.clock.works(ctx, n.URL); err != nil {
			leftOut[ClockAhead], leftOut[ClockBack] = err.Error(), err.Error()
		}
	}
	if n.cfg.script != nil {
		return n.cfg.script
	}
	kinds := n.kinds()
	if len(leftOut) > 0 {
		kinds = slices.DeleteFunc(slices.Clone(kinds), turned)
	}
	return Plan(n.cfg.Seed, n.cfg.Faults, kinds)
}

// loop waits until everything works and goes through the plan.
func (n *nemesis) loop(ctx context.Context, plan []Fault) error {
	defer func() {
		n.view.wipe()
		if n.observer != nil {
			n.observer.Close()
		}
	}()
	if len(plan) == 0 {
		return errors.New("no kind of fault is left that can be done here")
	}
	n.view.status("waiting until everything works")
	working := func() bool { return len(n.w.behind(0)) == 0 && n.campaigning() == len(n.Nodes) }
	if !n.wait(ctx, time.Now().Add(warmup), working) && ctx.Err() == nil {
		return fmt.Errorf("not everything began within %s; missing: %s; %d of %d machines campaign%s",
			warmup, strings.Join(n.w.behind(0), ", "), n.running, len(n.Nodes), n.words())
	}
	begun := time.Now()
	for len(plan) > 0 && ctx.Err() == nil {
		if n.cfg.Duration > 0 && time.Since(begun) >= n.cfg.Duration {
			n.view.note("%s are over: %d faults are left out", n.cfg.Duration, len(plan))
			return nil
		}
		size := 1
		if len(plan) > 1 && plan[1].Joined {
			size = 2
		}
		if err := n.strike(ctx, plan[:size]); err != nil {
			return err
		}
		plan = plan[size:]
		if len(n.violations) > 0 && !n.cfg.KeepGoing {
			n.view.note("ends early: what does not recover can not be hurt in a way that shows anything")
			return nil
		}
	}
	return nil
}

// words is what some process said last on its stderr.
func (n *nemesis) words() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, m := range n.Nodes {
		for _, l := range []life{m.work, m.run} {
			if l.process != nil && l.process.LastWords() != "" {
				return "; " + m.ID + " says: " + l.process.LastWords()
			}
		}
	}
	return ""
}

// judge ends the machines and weighs what they left behind.
func (n *nemesis) judge(ctx context.Context) (report Report, err error) {
	ctx, cancel := context.WithTimeout(ctx, teardown)
	defer cancel()
	n.view.note("stopping the machines and judging what they left behind")
	if err := n.Dismiss(farewell); err != nil {
		n.violate(ctx, len(n.wounds), Alive, "after SIGTERM: %v", err)
	}
	e := Evidence{Lease: n.cfg.Lease}
	for _, w := range n.wounds {
		e.Wounds = append(e.Wounds, *w)
	}
	if e.Record, err = n.collect(ctx); err != nil {
		return report, fmt.Errorf("reading the evidence: %w", err)
	}
	if e.Children, err = evidence.ReadActs(childrenFile(n.Cluster.cfg.Dir)); err != nil {
		return report, fmt.Errorf("reading the evidence: %w", err)
	}
	observer, err := pgmint.Observe(ctx, pgmint.Config{URL: n.URL, AppName: "conch chaos"})
	if err != nil {
		return report, err
	}
	defer observer.Close()
	if e.History, err = observer.History(ctx, "", historyAll); err != nil {
		return report, err
	}
	n.unasked(ctx, e)
	found, frozen := Check(e)
	n.violations = append(n.violations, found...)
	report = Report{
		Faults: map[Kind]int{}, Acts: len(e.Record.Ledger) + len(e.Record.Outside) + len(e.Children),
		Unavailable: n.samples[rows].spreads(), ActDoor: n.samples[outside].spreads(), Children: n.samples[children].spreads(),
		Seed: n.cfg.Seed, Leaders: evidence.Judge(e.Record).Leaders, Frozen: frozen,
		Seconds: float64(int(n.view.seconds()*10)) / 10, Replay: n.cfg.replay(),
	}
	for _, w := range n.wounds {
		report.Faults[w.Fault.Kind]++
	}
	report.Violations = shorten(n.violations, report.Replay)
	return report, nil
}

// young is how long a `conch run` may live that ends because it finds no database
// at its start; a service manager starts it again.
const young = 5 * time.Second

// unasked are the processes that ended though nobody had asked for it.
func (n *nemesis) unasked(ctx context.Context, e Evidence) {
	n.mu.Lock()
	deaths := slices.Clone(n.deaths)
	n.mu.Unlock()
	for _, d := range deaths {
		if d.run && d.lived < young && !strings.Contains(d.words, "panic") {
			continue
		}
		what := "conch demo-node"
		if d.run {
			what = "conch run"
		}
		n.violate(ctx, e.before(d.at), Alive, "%s of %s ended unasked after %s: %s", what, d.node, short(d.lived), d.words)
	}
}
