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

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgrogue"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/fence"
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
	n.wind(ctx)
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
	n.tryClock(ctx)
	plan := n.plan()
	n.view.note("%d faults of seed %d, on %d machines with a lease of %s; again with: %s", len(plan), cfg.Seed, cfg.Nodes, cfg.Lease, cfg.replay())
	for _, kind := range slices.Sorted(maps.Keys(n.leftOut)) {
		n.view.note("left out: %s: %s", kind, n.leftOut[kind])
	}
	if err := n.loop(ctx, plan); err != nil {
		return report, fmt.Errorf("%w; see it again with: %s", err, cfg.replay())
	}
	return n.judge(context.WithoutCancel(ctx), ctx.Err() == nil)
}

// kinds are those that were asked for.
func (n *nemesis) kinds() []Kind {
	if len(n.cfg.Kinds) > 0 {
		return n.cfg.Kinds
	}
	return Kinds()
}

// leaveOut: the database's clock cannot be turned here.
func (n *nemesis) leaveOut(why error) {
	n.leftOut = map[Kind]string{}
	for _, k := range n.kinds() {
		if k == ClockAhead || k == ClockBack {
			n.leftOut[k] = why.Error()
		}
	}
}

// wind makes a clock for the database, if it is to be turned.
func (n *nemesis) wind(ctx context.Context) {
	if !slices.Contains(n.kinds(), ClockAhead) && !slices.Contains(n.kinds(), ClockBack) {
		return
	}
	var err error
	if n.clock, err = NewClock(ctx); err != nil {
		n.leaveOut(err)
	}
}

// tryClock sees whether the database obeys it.
func (n *nemesis) tryClock(ctx context.Context) {
	if n.clock == nil {
		return
	}
	if err := n.clock.works(ctx, n.URL); err != nil {
		n.leaveOut(err)
	}
}

// plan is the same on every machine. What cannot be done here is left out when its turn
// comes: with fewer kinds to draw from every fault would be another.
func (n *nemesis) plan() []Fault {
	if n.cfg.script != nil {
		return n.cfg.script
	}
	return Plan(n.cfg.Seed, n.cfg.Faults, n.kinds())
}

// loop waits until everything works and goes through the plan.
func (n *nemesis) loop(ctx context.Context, plan []Fault) error {
	defer func() {
		n.view.wipe()
		if n.observer != nil {
			n.observer.Close()
		}
	}()
	if !slices.ContainsFunc(plan, func(f Fault) bool { return n.leftOut[f.Kind] == "" }) {
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
			n.view.note("ends early: what does not recover cannot be hurt in a way that shows anything")
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

// judge ends the machines and weighs what they left behind; of a run that was not cut
// short also the time since the last of it.
func (n *nemesis) judge(ctx context.Context, whole bool) (report Report, err error) {
	ctx, cancel := context.WithTimeout(ctx, teardown)
	defer cancel()
	n.view.note("stopping the machines and judging what they left behind")
	e := Evidence{Lease: n.cfg.Lease, Machines: len(n.Nodes), Takeover: n.cfg.Takeover, Gated: n.gated, Refused: n.refused}
	if whole {
		e.Ended = fence.Boottime()
	}
	if err := n.Dismiss(farewell); err != nil {
		n.violate(ctx, n.taken, Alive, "after SIGTERM: %v", err)
	}
	if left := n.sweep(lastMoment); left > 0 {
		n.violate(ctx, n.taken, InTime, "%d processes of machines that had ended lived on, and were killed", left)
	}
	for _, w := range n.wounds {
		e.Wounds = append(e.Wounds, *w)
	}
	if e.Record, err = n.collect(ctx); err != nil {
		return report, fmt.Errorf("reading the evidence: %w", err)
	}
	if e.Children, err = evidence.ReadActs(childrenFile(n.Cluster.cfg.Dir)); err != nil {
		return report, fmt.Errorf("reading the evidence: %w", err)
	}
	if e.Streamed, err = pgrogue.ReadStream(ctx, n.URL); err != nil {
		return report, fmt.Errorf("reading the evidence: %w", err)
	}
	observer, err := pgops.Observe(ctx, pgmint.Config{URL: n.URL, AppName: "conch chaos"})
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
		Faults: map[Kind]int{}, Missed: map[Kind]int{}, LeftOut: n.leftOut, Acts: len(e.Record.Ledger) + len(e.Record.Outside) + len(e.Children),
		Unavailable: n.samples[rows].spreads(), ActDoor: n.samples[outside].spreads(), Children: n.samples[children].spreads(),
		Seed: n.cfg.Seed, Frozen: frozen,
		Leaders: evidence.Judge(e.Record).Leaders + evidence.Judge(evidence.Record{Outside: e.Children}).Leaders,
		Seconds: float64(int(n.view.seconds()*10)) / 10, Replay: n.cfg.replay(),
	}
	for _, w := range n.wounds {
		if w.Missed {
			report.Missed[w.Fault.Kind]++
		} else {
			report.Faults[w.Fault.Kind]++
		}
	}
	report.Violations = shorten(n.violations, report.Replay)
	return report, nil
}
