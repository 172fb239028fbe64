//go:build unix

package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/pgrogue"
	"github.com/conchhq/conch/cmd/conch/internal/lab/screen"
	"github.com/conchhq/conch/cmd/conch/internal/lab/skew"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/fleet"
)

const (
	tick         = 20 * time.Millisecond
	askEvery     = 100 * time.Millisecond
	askMost      = 2 * time.Second
	pauseBetween = 0.3 // leases between two faults
	joinsAt      = 0.3 // share of the first fault's time
	leastTime    = 20 * time.Millisecond
)

// nemesis injects faults and waits for recovery. It belongs to one goroutine.
type nemesis struct {
	*Cluster
	cfg      Config
	clock    *skew.Clock
	w        *witness
	screen   *screen.Screen
	observer *pgops.Observer
	asked    time.Time
	running  int       // machines that campaigned when last asked
	audience *audience // nil: nobody looks at pages

	hog     *pgrogue.Hog
	stray   *fleet.Process
	gated   []Gated           // acts of the gates' callers
	refused []pgrogue.Refusal // failed transactions of streams

	leftOut map[Kind]string // kinds that cannot be injected here, and why
	taken   int             // faults of the plan so far, left out or not

	injections []*Injection
	violations []Violation
	samples    [works]gaps
}

// strike injects one fault, or two at once, and waits until everything goes on.
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
		n.record(all, ctx.Err() == nil)
	}()
	for i, f := range group {
		n.taken++
		if n.leftOut[f.Kind] != "" {
			n.screen.Note("[%d/%d] %s: left out", n.taken, n.cfg.Faults, f.Kind)
			continue
		}
		f.Joined = f.Joined && len(all) > 0
		a := n.aim(f)
		all = append(all, a)
		n.screen.Status("%s", f)
		if err := procedures[f.Kind].inject(ctx, n, a.Injection); err != nil {
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
	if len(all) > 0 {
		n.recover(ctx, name(all))
	}
	return nil
}

// heal undoes a fault, also after Ctrl-C.
func (n *nemesis) heal(ctx context.Context, a *active) error {
	if a.Done == 0 || a.Healed != 0 {
		return nil // it was not injected, or is healed
	}
	a.Healed = fence.Boottime()
	err := procedures[a.Fault.Kind].heal(context.WithoutCancel(ctx), n, a.Injection)
	a.Over = fence.Boottime()
	n.asked = time.Time{} // what was asked before the heal is out of date
	return n.stuck(ctx, err, a)
}

// overcome waits until somebody has been elected past a stuck fence.
func (n *nemesis) overcome(ctx context.Context, a *active) {
	if a.Fault.Kind != FrozenFence && a.Fault.Kind != BusyFence {
		return
	}
	a.Passed = n.until(ctx, func() bool { return n.w.last[rows].epoch > a.Epoch })
	if !a.Passed {
		n.violate(ctx, a.Number, Recovers, "nobody got past the fence of a %s in %s", a.Fault.Kind, n.cfg.patience())
	}
}

// recover waits until the three workloads have gone on and all machines campaign; and again after
// a pause, since an effect of the heal may show a heartbeat later.
func (n *nemesis) recover(ctx context.Context, after string) {
	n.screen.Status("%s: waiting until everything goes on", after)
	for _, pause := range []float64{pauseBetween, 0} {
		healed := fence.Boottime()
		if !n.until(ctx, func() bool {
			return len(n.w.behind(healed)) == 0 && n.campaigning() == len(n.Nodes) && n.audience.behind(healed) == 0
		}) {
			missing := n.w.behind(healed)
			if n.running < len(n.Nodes) {
				missing = append(missing, fmt.Sprintf("%d of %d machines campaigning", n.running, len(n.Nodes)))
			}
			if late := n.audience.behind(healed); late > 0 {
				missing = append(missing, fmt.Sprintf("%d viewers that are told how things stand", late))
			}
			n.violate(ctx, n.taken, Recovers, "%s after %s was over, still missing: %s", n.cfg.patience(), after, strings.Join(missing, ", "))
			return
		}
		n.pass(ctx, time.Now().Add(time.Duration(pause*float64(n.cfg.Lease))))
	}
}

// violate records a violation, unless Ctrl-C is the reason.
func (n *nemesis) violate(ctx context.Context, fault int, invariant, format string, args ...any) {
	if ctx.Err() != nil {
		return
	}
	v := Violation{Invariant: invariant, Detail: fmt.Sprintf(format, args...), Fault: fault}
	n.violations = append(n.violations, v)
	n.screen.Note("VIOLATED %s: %s", v.Invariant, v.Detail)
}

// stuck turns a stuckError into a violation. Other errors are the nemesis's own, and errors that
// Ctrl-C caused are dropped.
func (n *nemesis) stuck(ctx context.Context, err error, a *active) error {
	if s, ok := errors.AsType[*stuckError](err); ok {
		n.violate(ctx, a.Number, Recovers, "%s", s.what)
		return nil
	}
	// An interrupted call returns the context's cause or its error.
	if err == nil || ctx.Err() != nil && (errors.Is(err, context.Cause(ctx)) || errors.Is(err, ctx.Err())) {
		return nil
	}
	return fmt.Errorf("fault %d, %s: %w", a.Number, a.Fault, err)
}

func (n *nemesis) pass(ctx context.Context, until time.Time) {
	n.wait(ctx, until, func() bool { return false })
}

func (n *nemesis) until(ctx context.Context, cond func() bool) bool {
	return n.wait(ctx, time.Now().Add(n.cfg.patience()), cond)
}

func (n *nemesis) wait(ctx context.Context, until time.Time, cond func() bool) bool {
	timer := time.NewTicker(tick)
	defer timer.Stop()
	for {
		_ = n.w.look() // Check reports what cannot be read
		_ = n.revive() // a machine that cannot be started is reported as missing
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

// campaigning returns how many machines campaign for both scopes. It asks the database at most
// every askEvery, and returns 0 while the database cannot be asked.
func (n *nemesis) campaigning() int {
	if time.Since(n.asked) < askEvery {
		return n.running
	}
	n.asked, n.running = time.Now(), 0
	ctx, cancel := context.WithTimeout(context.Background(), askMost)
	defer cancel()
	var err error
	if n.observer == nil {
		if n.observer, err = pgops.Observe(ctx, pgmint.Config{URL: n.URL, AppName: "conch chaos"}); err != nil {
			n.observer = nil
			return 0
		}
	}
	all, err := n.observer.Scopes(ctx, "")
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

// record keeps how long each workload was away, and prints it.
func (n *nemesis) record(on []*active, whole bool) {
	if len(on) == 0 {
		return
	}
	kind := on[0].Fault.Kind
	if len(on) > 1 {
		kind = Combined
	}
	missed := slices.ContainsFunc(on, func(a *active) bool { return a.Missed })
	now := fence.Boottime()
	_ = n.w.look()
	var away [works]time.Duration
	for i := range away {
		away[i] = n.w.gap(work(i), now)
		if whole && !missed {
			n.samples[i].add(kind, away[i], slices.ContainsFunc(on, func(a *active) bool { return a.of(a.at[i]) }))
		}
	}
	last := on[len(on)-1]
	hit := strings.Join(last.Nodes, " ")
	if last.Missed {
		hit = "found nobody to hit"
	}
	n.screen.Note("[%d/%d] %s (%s): no row for %s, no act for %s, no child for %s", last.Number, n.cfg.Faults,
		name(on), hit, short(away[rows]), short(away[outside]), short(away[children]))
}

func short(d time.Duration) string { return d.Round(time.Millisecond).String() }

func name(on []*active) string {
	parts := make([]string, len(on))
	for i, a := range on {
		parts[i] = a.Fault.String()
	}
	return strings.Join(parts, ", ")
}
