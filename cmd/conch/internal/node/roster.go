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
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// roster keeps a node's electors in step with its configuration. All roles of an elector
// share its terms, so the roster has one elector, a crew, for each set of equal terms. A
// removed role is retired from its crew and drained. A changed role is retired, and added
// again in its new form when its term has ended.
type roster struct {
	found func(base config.Config, roles []config.Role) (*crew, error)
	stale atomic.Bool // a call of moved is due and has not begun

	mu    sync.Mutex
	base  config.Config
	want  map[string]config.Role // by scope
	crews []*crew
	ended bool
	calls sync.WaitGroup    // drains, and running crews
	told  []<-chan struct{} // one per retired role; closed once the database knows
}

// crew is one elector, and its roles without the retired ones.
type crew struct {
	elector leader
	terms   config.Terms
	base    election.Config // defaults that completed the terms
	roles   map[string]config.Role
	besides map[string]context.CancelFunc // by scope: ends the work beside a role's terms
	employ  func(base config.Config, r config.Role) (role election.Role, begin func())
	stop    context.CancelFunc
	stopped bool
	run     func() error
	err     error // of run, once it has returned
}

func newCrew(roles ...config.Role) *crew {
	c := &crew{terms: roles[0].Terms(), roles: map[string]config.Role{}, besides: map[string]context.CancelFunc{}}
	for _, r := range roles {
		c.roles[r.Scope] = r
	}
	return c
}

// join adds a role to a running crew.
func (c *crew) join(base config.Config, r config.Role) error {
	role, begin := c.employ(base, r)
	if err := c.elector.Add(role); err != nil {
		return err
	}
	c.roles[r.Scope] = r
	begin()
	return nil
}

// leader has the methods of *election.Elector that the roster needs, except Run.
type leader interface { //nolint:interfacebloat // one method for each thing that an elector can be told or asked
	Status(scope string) (election.Status, bool)
	Snapshot() []election.Status
	Add(r election.Role) error
	Retire(scope string) (told <-chan struct{}, err error)
	Rest(scope string, d time.Duration)
	StepDown(ctx context.Context, s election.StepDown) error
	Gate(scope string) *fence.Gate
}

// assign sets the roles that the node should have from now on.
func (r *roster) assign(base config.Config) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.base, r.want = base, map[string]config.Role{}
	for _, role := range base.Settled() {
		r.want[role.Scope] = role
	}
	return r.settle()
}

// announce waits until the database knows which roles were retired, or until ctx ends.
func (r *roster) announce(ctx context.Context) {
	r.mu.Lock()
	waits := r.told
	r.told = nil
	r.mu.Unlock()
	for _, told := range waits {
		select {
		case <-told:
		case <-ctx.Done():
			return
		}
	}
}

// due is called when a term has begun or ended, and reports whether the caller must call
// moved. Terms begin by the thousand, and a call of moved that has not begun covers them all.
func (r *roster) due() bool { return !r.stale.Swap(true) }

// moved settles the roster after a term has begun or ended.
func (r *roster) moved() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stale.Store(false) // before settle, which may miss later events: they need another call
	return r.settle()
}

// settle brings the crews as close to the wanted roles as is possible now. It needs the lock.
func (r *roster) settle() error {
	if r.ended {
		return nil
	}
	placed := map[string]bool{}
	for _, c := range r.crews {
		for scope, role := range c.roles {
			if want, wanted := r.want[scope]; wanted && reflect.DeepEqual(want, role) {
				placed[scope] = true
				continue
			}
			if told, err := c.elector.Retire(scope); err == nil {
				r.told = append(r.told, told)
			}
			delete(c.roles, scope)
			if end := c.besides[scope]; end != nil {
				end()
				delete(c.besides, scope)
			}
		}
	}
	for _, c := range r.crews {
		for _, scope := range c.leads() {
			placed[scope] = true // in its old form, until its term ends
			if _, wanted := r.want[scope]; !wanted {
				r.drop(c, scope) // a bid under way may win after its role was removed
			}
		}
	}
	err := r.place(placed)
	for _, c := range r.crews {
		if len(c.roles) == 0 && len(c.leads()) == 0 {
			c.stopped = true
			c.stop()
		}
	}
	return err
}

// place finds or makes a crew for each wanted role without one.
func (r *roster) place(placed map[string]bool) error {
	groups := map[config.Terms][]config.Role{}
	var order []config.Terms
	for _, scope := range slices.Sorted(maps.Keys(r.want)) {
		role := r.want[scope]
		if placed[scope] {
			continue
		}
		if groups[role.Terms()] == nil {
			order = append(order, role.Terms())
		}
		groups[role.Terms()] = append(groups[role.Terms()], role)
	}
	var faults []error
	for _, terms := range order {
		rest := slices.DeleteFunc(groups[terms], func(role config.Role) bool { return r.joins(role) })
		if len(rest) == 0 {
			continue
		}
		c, err := r.found(r.base, rest)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		c.base = r.base.Election
		r.crews = append(r.crews, c)
		r.calls.Go(func() {
			err := c.run()
			r.mu.Lock()
			defer r.mu.Unlock()
			c.err = err
			r.crews = slices.DeleteFunc(r.crews, func(o *crew) bool { return o == c && !r.ended })
		})
	}
	return errors.Join(faults...)
}

// joins adds a role to a crew with equal terms and reports whether there was one. A crew
// refuses a role whose lease is shorter than that of its session.
func (r *roster) joins(role config.Role) bool {
	for _, c := range r.crews {
		able := !c.stopped && c.terms == role.Terms() && reflect.DeepEqual(c.base, r.base.Election)
		if able && c.join(r.base, role) == nil {
			return true
		}
	}
	return false
}

// errRemoved is the reason for draining a removed role.
var errRemoved = errors.New("the role was taken out of the configuration")

// drop drains a removed role.
func (r *roster) drop(c *crew, scope string) {
	r.calls.Go(func() {
		_ = c.elector.StepDown(context.Background(), election.StepDown{
			Scope: scope, Why: fmt.Errorf("%w: %w", election.ErrStepDown, errRemoved),
		}) // the outcome comes as a fact
	})
}

func (c *crew) leads() (scopes []string) {
	for _, s := range c.elector.Snapshot() {
		if s.Leading {
			scopes = append(scopes, s.Scope)
		}
	}
	return scopes
}

// end stops all crews and waits until they have given up their scopes, or until ctx ends.
func (r *roster) end(ctx context.Context) error {
	r.mu.Lock()
	r.ended = true
	for _, c := range r.crews {
		c.stop()
	}
	r.mu.Unlock()
	over := make(chan struct{})
	go func() { r.calls.Wait(); close(over) }()
	select {
	case <-over:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var faults []error
	for _, c := range r.crews {
		faults = append(faults, c.err)
	}
	return errors.Join(faults...)
}
