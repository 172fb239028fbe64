package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/election"
)

// electorSet keeps a node's electors in step with its configuration. All roles of an elector share
// its settings, so the set has one elector, in a roleGroup, for the roles with equal settings. A
// removed role is retired from its group and drained. A changed role is retired, and added again in
// its new form when its term has ended.
type electorSet struct {
	// newElector makes an elector that knows the roles, but not yet their work.
	newElector func(base config.Config, roles []config.Role) (elector, error)
	// work is [Node.work].
	work         func(r config.Role, resign func(why error)) (w Work, background func(ctx context.Context))
	spawn        func(f func())  // runs f in a goroutine that the node waits for
	over         context.Context // ends with the node
	electorsOver context.Context // ends once all electors have ended

	queued atomic.Bool // a call of termsChanged is due and has not begun

	mu        sync.Mutex
	base      config.Config
	want      map[string]config.Role // by scope
	groups    []*roleGroup
	ended     bool
	calls     sync.WaitGroup    // running electors, and drains
	withdrawn []<-chan struct{} // one per retired role; closed once the database knows
}

// assign sets the roles that the node should have from now on.
func (s *electorSet) assign(base config.Config) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.base, s.want = base, map[string]config.Role{}
	for _, role := range base.Settled() {
		s.want[role.Scope] = role
	}
	return s.reconcile()
}

// awaitWithdrawn waits until the database knows which roles were retired, or until ctx ends.
func (s *electorSet) awaitWithdrawn(ctx context.Context) {
	s.mu.Lock()
	waits := s.withdrawn
	s.withdrawn = nil
	s.mu.Unlock()
	for _, withdrawn := range waits {
		select {
		case <-withdrawn:
		case <-ctx.Done():
			return
		}
	}
}

// queue is called when a term has begun or ended, and reports whether the caller must call
// termsChanged. Terms begin by the thousand, and a call that has not begun covers them all.
func (s *electorSet) queue() bool { return !s.queued.Swap(true) }

// termsChanged reconciles the set after a term has begun or ended.
func (s *electorSet) termsChanged() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queued.Store(false) // before reconcile, which may miss later events: they need another call
	return s.reconcile()
}

// reconcile brings the groups as close to the wanted roles as is possible now. It needs the lock.
func (s *electorSet) reconcile() error {
	if s.ended {
		return nil
	}
	placed := map[string]bool{}
	for _, g := range s.groups {
		for scope, role := range g.roles {
			if want, wanted := s.want[scope]; wanted && reflect.DeepEqual(want, role.Role) {
				placed[scope] = true
				continue
			}
			if withdrawn, err := g.elector.Retire(scope); err == nil {
				s.withdrawn = append(s.withdrawn, withdrawn)
			}
			role.endBackground()
			delete(g.roles, scope)
		}
	}
	for _, g := range s.groups {
		for _, scope := range g.leading() {
			placed[scope] = true // in its old form, until its term ends
			if _, wanted := s.want[scope]; !wanted {
				s.drainRemoved(g, scope) // a bid under way may win after its role was removed
			}
		}
	}
	err := s.place(placed)
	for _, g := range s.groups {
		if len(g.roles) == 0 && len(g.leading()) == 0 {
			g.stopped = true
			g.stop(nil)
		}
	}
	return err
}

// place adds each wanted role that has no group to one, or to a new group.
func (s *electorSet) place(placed map[string]bool) error {
	bySettings := map[config.ElectorSettings][]config.Role{}
	var order []config.ElectorSettings
	for _, scope := range slices.Sorted(maps.Keys(s.want)) {
		role := s.want[scope]
		if placed[scope] {
			continue
		}
		if bySettings[role.ElectorSettings()] == nil {
			order = append(order, role.ElectorSettings())
		}
		bySettings[role.ElectorSettings()] = append(bySettings[role.ElectorSettings()], role)
	}
	var faults []error
	for _, settings := range order {
		if rest := slices.DeleteFunc(bySettings[settings], s.addToAny); len(rest) > 0 {
			faults = append(faults, s.startGroup(rest))
		}
	}
	return errors.Join(faults...)
}

// addToAny adds a role to a group with equal settings and reports whether there was one. An elector
// refuses a role whose lease is shorter than that of its session.
func (s *electorSet) addToAny(role config.Role) bool {
	for _, g := range s.groups {
		able := !g.stopped && g.settings == role.ElectorSettings() && reflect.DeepEqual(g.base, s.base.Election)
		if able && s.add(g, role) == nil {
			return true
		}
	}
	return false
}

// errRemoved is the reason for draining a removed role.
var errRemoved = errors.New("the role was taken out of the configuration")

// drainRemoved drains a removed role.
func (s *electorSet) drainRemoved(g *roleGroup, scope string) {
	s.calls.Go(func() {
		_ = g.elector.StepDown(context.Background(), election.StepDown{
			Scope: scope, Why: fmt.Errorf("%w: %w", election.ErrStepDown, errRemoved),
		}) // the outcome comes as a fact
	})
}

// end stops all electors and waits until they have given up their scopes, or until ctx ends. The
// history shows why.
func (s *electorSet) end(ctx context.Context, why error) error {
	s.mu.Lock()
	s.ended = true
	for _, g := range s.groups {
		g.stop(why)
	}
	s.mu.Unlock()
	over := make(chan struct{})
	go func() { s.calls.Wait(); close(over) }()
	select {
	case <-over:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var faults []error
	for _, g := range s.groups {
		faults = append(faults, g.err)
	}
	return errors.Join(faults...)
}
