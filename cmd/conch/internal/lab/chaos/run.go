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
	"github.com/conchhq/conch/cmd/conch/internal/lab/screen"
	"github.com/conchhq/conch/cmd/conch/internal/lab/skew"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/fence"
)

const (
	endGrace   = 20 * time.Second // for machines to end in order
	teardown   = 5 * time.Minute  // for reading the evidence
	historyAll = 1 << 30
)

// Run injects the faults of a plan into its own cluster and judges the evidence. If ctx ends first,
// it stops early and judges what has happened so far. The error is about the run itself; the
// report says what it showed.
func Run(ctx context.Context, cfg Config) (report Report, err error) {
	n := &nemesis{cfg: cfg, screen: screen.New(cfg.Screen)}
	dir, err := os.MkdirTemp("", "conch-chaos-")
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, n.clock.Remove(), os.RemoveAll(dir)) }()
	n.w = newWitness(dir)
	n.prepareClock(ctx)
	n.Cluster, err = Start(ctx, ClusterConfig{
		Program: cfg.Program, Conch: cfg.Conch, Dir: dir, Nodes: cfg.Nodes, Lease: cfg.Lease, Takeover: cfg.Takeover, Children: true, Pages: cfg.Viewers > 0, Clock: n.clock,
		SmallQueue: slices.Contains(cfg.Kinds, NotifyFull),
	})
	defer func() { err = errors.Join(err, n.Stop()) }()
	switch {
	case ctx.Err() != nil:
		return report, context.Cause(ctx) // each call has its own words for an interruption
	case err != nil:
		return report, err
	}
	n.tryClock(ctx)
	if cfg.Viewers > 0 {
		n.audience = watchPages(n.Nodes, cfg.Viewers)
		defer n.audience.end()
	}
	plan := n.plan()
	n.screen.Note("%d faults of seed %d, on %d machines with a lease of %s; again with: %s", len(plan), cfg.Seed, cfg.Nodes, cfg.Lease, cfg.replay())
	for _, kind := range slices.Sorted(maps.Keys(n.leftOut)) {
		n.screen.Note("left out: %s: %s", kind, n.leftOut[kind])
	}
	if err := n.loop(ctx, plan); err != nil {
		return report, fmt.Errorf("%w; see it again with: %s", err, cfg.replay())
	}
	return n.judge(context.WithoutCancel(ctx), ctx.Err() == nil)
}

func (n *nemesis) kinds() []Kind {
	if len(n.cfg.Kinds) > 0 {
		return n.cfg.Kinds
	}
	return ordinary()
}

// leaveOut records that the database's clock cannot be turned here.
func (n *nemesis) leaveOut(why error) {
	n.leftOut = map[Kind]string{}
	for _, k := range n.kinds() {
		if k == ClockAhead || k == ClockBack {
			n.leftOut[k] = why.Error()
		}
	}
}

// prepareClock makes a clock for the database if its faults need one.
func (n *nemesis) prepareClock(ctx context.Context) {
	if !slices.Contains(n.kinds(), ClockAhead) && !slices.Contains(n.kinds(), ClockBack) {
		return
	}
	var err error
	if n.clock, err = skew.New(ctx); err != nil {
		n.leaveOut(err)
	}
}

// tryClock checks that the database obeys its clock.
func (n *nemesis) tryClock(ctx context.Context) {
	if n.clock == nil {
		return
	}
	if err := obeys(ctx, n.URL, n.clock); err != nil {
		n.leaveOut(err)
	}
}

// plan is the same on every machine. A kind that cannot be injected here is left out when its turn
// comes: without that kind the seed would give other faults.
func (n *nemesis) plan() []Fault {
	if n.cfg.script != nil {
		return n.cfg.script
	}
	return Plan(n.cfg.Seed, n.cfg.Faults, n.kinds())
}

// loop waits until everything works, and then goes through the plan.
func (n *nemesis) loop(ctx context.Context, plan []Fault) error {
	defer func() {
		n.screen.Wipe()
		if n.observer != nil {
			n.observer.Close()
		}
	}()
	if !slices.ContainsFunc(plan, func(f Fault) bool { return n.leftOut[f.Kind] == "" }) {
		return errors.New("no kind of fault is left that can be done here")
	}
	n.screen.Status("waiting until everything works")
	working := func() bool {
		return len(n.w.behind(0)) == 0 && n.campaigning() == len(n.Nodes) && n.audience.behind(0) == 0
	}
	if !n.wait(ctx, time.Now().Add(warmup), working) && ctx.Err() == nil {
		return fmt.Errorf("not everything began within %s; missing: %s; %d of %d machines campaign%s",
			warmup, strings.Join(n.w.behind(0), ", "), n.running, len(n.Nodes), n.lastWords())
	}
	begun := time.Now()
	for len(plan) > 0 && ctx.Err() == nil {
		if n.cfg.Duration > 0 && time.Since(begun) >= n.cfg.Duration {
			n.screen.Note("%s are over: %d faults are left out", n.cfg.Duration, len(plan))
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
			n.screen.Note("ending early: faults prove nothing while something has not recovered")
			return nil
		}
	}
	return nil
}

func (n *nemesis) lastWords() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, m := range n.Nodes {
		for _, l := range m.lives() {
			if text := l.process.Said(m.ID); text != "" {
				return text
			}
		}
	}
	return ""
}

// judge ends the machines and judges their evidence. If the run was not cut short, that includes
// the time since the last sign of a leader.
func (n *nemesis) judge(ctx context.Context, whole bool) (report Report, err error) {
	ctx, cancel := context.WithTimeout(ctx, teardown)
	defer cancel()
	n.screen.Note("stopping the machines and judging what they left behind")
	e := Evidence{Lease: n.cfg.Lease, Machines: len(n.Nodes), Takeover: n.cfg.Takeover, Gated: n.gated, Refused: n.refused}
	if whole {
		e.Ended = fence.Boottime()
	}
	if n.audience != nil {
		e.Viewings = n.audience.end()
	}
	if err := n.EndMachines(endGrace); err != nil {
		n.violate(ctx, n.taken, Alive, "after SIGTERM: %v", err)
	}
	if left := n.sweep(lastMoment); left > 0 {
		n.violate(ctx, n.taken, InTime, "%d processes of machines that had ended lived on, and were killed", left)
	}
	for _, in := range n.injections {
		e.Injections = append(e.Injections, *in)
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
	n.unexpectedDeaths(ctx, e)
	found, frozen := Check(e)
	n.violations = append(n.violations, found...)
	report = Report{
		Faults: map[Kind]int{}, Missed: map[Kind]int{}, LeftOut: n.leftOut, Acts: len(e.Record.Ledger) + len(e.Record.Outside) + len(e.Children),
		Unavailable: n.samples[rows].spreads(), ActDoor: n.samples[outside].spreads(), Children: n.samples[children].spreads(),
		Seed: n.cfg.Seed, Frozen: frozen,
		Leaders: evidence.Judge(e.Record).Leaders + evidence.Judge(evidence.Record{Outside: e.Children}).Leaders,
		Seconds: float64(int(n.screen.Elapsed().Seconds()*10)) / 10, Replay: n.cfg.replay(),
	}
	for _, v := range e.Viewings {
		report.Told, report.Streams = report.Told+v.Told, report.Streams+v.Opened
	}
	for _, in := range n.injections {
		if in.Missed {
			report.Missed[in.Fault.Kind]++
		} else {
			report.Faults[in.Fault.Kind]++
		}
	}
	report.Violations = shorten(n.violations, report.Replay)
	return report, nil
}
