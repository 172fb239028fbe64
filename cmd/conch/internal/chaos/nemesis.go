//go:build unix

package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/pgrogue"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
)

const (
	tick      = 20 * time.Millisecond
	askEvery  = 100 * time.Millisecond
	askMost   = 2 * time.Second
	calm      = 0.3 // leases between two faults
	joinsAt   = 0.3 // of the first fault's time
	leastTime = 20 * time.Millisecond
)

// nemesis is one goroutine's: it hurts the cluster and waits until it is well.
type nemesis struct {
	*Cluster
	cfg      Config
	clock    *Clock
	w        *witness
	view     *view
	observer *pgmint.Observer
	asked    time.Time
	running  int // machines that campaigned when last asked

	hog   *pgrogue.Hog
	stray *stray

	wounds     []*Wound
	violations []Violation
	samples    [works]gaps
}

// active is a fault that is on.
type active struct {
	*Wound
	over time.Time
	hits [works]bool // whether it was meant for the machine that did this work
}

// strike does one fault, or two at once, and waits until everything goes on.
func (n *nemesis) strike(ctx context.Context, group []Fault) (err error) {
	if err := n.w.look(); err != nil {
		return err
	}
	n.w.mark()
	var all []*active
	defer func() { // also after an error, or Ctrl-C
		for _, a := range all {
			err = errors.Join(err, n.heal(ctx, a))
		}
		n.record(group[:len(all)], all, ctx.Err() == nil)
	}()
	for i, f := range group {
		a := n.aim(f)
		all = append(all, a)
		n.view.status("%s", f)
		if err := injuries[f.Kind].inject(ctx, n, a.Wound); err != nil {
			return n.stuck(ctx, err, a)
		}
		a.Done = fence.Boottime()
		lasts := max(time.Duration(f.Leases*float64(n.cfg.Lease)), leastTime)
		a.over = time.Now().Add(lasts)
		if i < len(group)-1 {
			n.pass(ctx, a.over.Add(-time.Duration((1-joinsAt)*float64(lasts))))
		}
	}
	for _, a := range slices.SortedFunc(slices.Values(all), func(a, b *active) int { return a.over.Compare(b.over) }) {
		n.pass(ctx, a.over)
		n.overcome(ctx, a)
		if err := n.heal(ctx, a); err != nil {
			return err
		}
	}
	n.recover(ctx, group)
	return nil
}

// aim looks whom a fault hits and writes it down.
func (n *nemesis) aim(f Fault) *active {
	w := &Wound{Number: len(n.wounds) + 1, Fault: f, Epoch: n.w.last[rows].epoch}
	n.wounds = append(n.wounds, w)
	for _, m := range n.meant(f) {
		w.Nodes = append(w.Nodes, m.ID)
	}
	a := &active{Wound: w}
	for i, last := range n.w.last {
		a.hits[i] = w.of(last.node)
	}
	w.At = fence.Boottime()
	return a
}

// meant finds the machines that a fault is for. One that is dead already, by a fault
// that is still on, can not be hit again.
func (n *nemesis) meant(f Fault) []*Node {
	n.mu.Lock()
	defer n.mu.Unlock()
	if f.Target == Everybody && f.Kind != FrozenFence && f.Kind != BusyFence {
		return n.Nodes
	}
	leader, run := n.w.last[rows].node, n.w.last[children].node
	var first, rest []*Node
	for _, m := range n.Nodes {
		wanted := m.ID == leader
		switch f.Target {
		case Supervisor:
			wanted = m.ID == run
		case Follower:
			wanted = m.ID != leader && m.ID != run
		case Leader, Everybody:
		}
		switch {
		case m.gone():
		case wanted:
			first = append(first, m)
		default:
			rest = append(rest, m)
		}
	}
	for _, some := range [][]*Node{first, rest} {
		if len(some) > 0 {
			return some[f.Pick%len(some):][:1]
		}
	}
	return nil
}

// hit are the machines of a wound.
func (n *nemesis) hit(w *Wound) (hit []*Node) {
	for _, m := range n.Nodes {
		if w.of(m.ID) {
			hit = append(hit, m)
		}
	}
	return hit
}

// heal undoes a fault, also after Ctrl-C.
func (n *nemesis) heal(ctx context.Context, a *active) error {
	if a.Done == 0 || a.Healed != 0 {
		return nil // it never began, or is over
	}
	a.Healed = fence.Boottime()
	return n.stuck(ctx, injuries[a.Fault.Kind].heal(context.WithoutCancel(ctx), n, a.Wound), a)
}

// overcome waits, while a fence is stuck, until somebody has been elected past it.
func (n *nemesis) overcome(ctx context.Context, a *active) {
	if a.Fault.Kind != FrozenFence && a.Fault.Kind != BusyFence {
		return
	}
	a.Passed = n.until(ctx, func() bool { return n.w.last[rows].epoch > a.Epoch })
	if !a.Passed {
		n.violate(ctx, a.Number, Recovers, "nobody got past the fence of a %s in %s", a.Fault.Kind, n.cfg.patience())
	}
}

// recover waits until the three workloads have gone on since everything has healed,
// and all machines campaign.
func (n *nemesis) recover(ctx context.Context, group []Fault) {
	healed := fence.Boottime()
	n.view.status("%s: waiting until everything goes on", name(group))
	if n.until(ctx, func() bool { return len(n.w.behind(healed)) == 0 && n.campaigning() == len(n.Nodes) }) {
		n.pass(ctx, time.Now().Add(time.Duration(calm*float64(n.cfg.Lease))))
		return
	}
	missing := n.w.behind(healed)
	if n.running < len(n.Nodes) {
		missing = append(missing, fmt.Sprintf("%d of %d machines campaigning", n.running, len(n.Nodes)))
	}
	n.violate(ctx, len(n.wounds), Recovers, "%s after %s was over, still missing: %s", n.cfg.patience(), name(group), strings.Join(missing, ", "))
}

// violate writes a violation down, unless Ctrl-C is the reason.
func (n *nemesis) violate(ctx context.Context, fault int, invariant, format string, args ...any) {
	if ctx.Err() != nil {
		return
	}
	v := Violation{Invariant: invariant, Detail: fmt.Sprintf(format, args...), Fault: fault}
	n.violations = append(n.violations, v)
	n.view.note("VIOLATED %s: %s", v.Invariant, v.Detail)
}

// stuck turns a process that does not do what it must into a violation. Other
// errors are the nemesis's own; what Ctrl-C has cut short is none.
func (n *nemesis) stuck(ctx context.Context, err error, a *active) error {
	if s, ok := errors.AsType[*stuckError](err); ok {
		n.violate(ctx, a.Number, Recovers, "%s", s.what)
		return nil
	}
	if err == nil || ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return nil
	}
	return fmt.Errorf("fault %d, %s: %w", a.Number, a.Fault, err)
}

// pass lets time go by.
func (n *nemesis) pass(ctx context.Context, until time.Time) {
	n.wait(ctx, until, func() bool { return false })
}

// until waits for a condition, with the patience of the run.
func (n *nemesis) until(ctx context.Context, cond func() bool) bool {
	return n.wait(ctx, time.Now().Add(n.cfg.patience()), cond)
}

func (n *nemesis) wait(ctx context.Context, until time.Time, cond func() bool) bool {
	timer := time.NewTicker(tick)
	defer timer.Stop()
	for {
		_ = n.w.look() // what can not be read will be told by Check
		_ = n.revive() // what could not be started is missing in the end
		switch {
		case cond():
			return true
		case ctx.Err() != nil || !time.Now().Before(until):
			return false
		}
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
}

// campaigning asks the database, now and then, how many machines campaign for both
// scopes. 0 while it can not be asked.
func (n *nemesis) campaigning() int {
	if time.Since(n.asked) < askEvery {
		return n.running
	}
	n.asked, n.running = time.Now(), 0
	ctx, cancel := context.WithTimeout(context.Background(), askMost)
	defer cancel()
	var err error
	if n.observer == nil {
		if n.observer, err = pgmint.Observe(ctx, pgmint.Config{URL: n.URL, AppName: "conch chaos"}); err != nil {
			n.observer = nil
			return 0
		}
	}
	all, err := n.observer.Leaderships(ctx, "")
	if err != nil {
		n.observer.Close()
		n.observer = nil
		return 0
	}
	n.running = len(n.Nodes)
	for _, scope := range []string{Scope, RunScope} {
		candidates := 0
		for _, l := range all {
			if l.Scope == scope {
				candidates = len(l.Candidates)
			}
		}
		n.running = min(n.running, candidates)
	}
	return n.running
}

// record keeps how long each workload was away, and says it.
func (n *nemesis) record(group []Fault, on []*active, whole bool) {
	kind := group[0].Kind
	if len(group) > 1 {
		kind = Combined
	}
	var away [works]time.Duration
	for i := range away {
		away[i] = n.w.gap(work(i))
		if whole {
			n.samples[i].add(kind, away[i], slices.ContainsFunc(on, func(a *active) bool { return a.hits[i] }))
		}
	}
	last := on[len(on)-1]
	n.view.note("[%d/%d] %s (%s): no row for %s, no act for %s, no child for %s", last.Number, n.cfg.Faults,
		name(group), strings.Join(last.Nodes, " "), short(away[rows]), short(away[outside]), short(away[children]))
}

func short(d time.Duration) string { return d.Round(time.Millisecond).String() }

func name(group []Fault) string {
	parts := make([]string, len(group))
	for i, f := range group {
		parts[i] = f.String()
	}
	return strings.Join(parts, ", ")
}
