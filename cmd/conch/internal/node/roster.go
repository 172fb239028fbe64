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

// roster keeps the electors of a node in step with the roles that it should have. All
// roles of an elector share its terms, so the roster has one elector, a crew, for each set
// of equal terms. A role that goes is retired from its crew and drained; a role that changes
// is retired, and added again with what is new when its term has ended.
type roster struct {
	found func(base config.Config, roles []config.Role) (*crew, error)
	stale atomic.Bool // moved is to be called, and has not begun to look

	mu    sync.Mutex
	base  config.Config
	want  map[string]config.Role // by scope
	crews []*crew
	ended bool
	calls sync.WaitGroup    // drains, and crews that run
	told  []<-chan struct{} // closed once the database knows that a role was retired
}

// crew is one elector and the roles that it has not been retired from.
type crew struct {
	elector leader
	terms   config.Terms
	base    election.Config // that the terms were completed from
	roles   map[string]config.Role
	besides map[string]context.CancelFunc // ends what goes on beside a role's terms, for roles that have such a thing
	employ  func(base config.Config, r config.Role) (role election.Role, begin func())
	stop    context.CancelFunc
	stopped bool
	run     func() error
	err     error // once it has ended
}

func newCrew(roles ...config.Role) *crew {
	c := &crew{terms: roles[0].Terms(), roles: map[string]config.Role{}, besides: map[string]context.CancelFunc{}}
	for _, r := range roles {
		c.roles[r.Scope] = r
	}
	return c
}

// join adds a role to a crew that is at work.
func (c *crew) join(base config.Config, r config.Role) error {
	role, begin := c.employ(base, r)
	if err := c.elector.Add(role); err != nil {
		return err
	}
	c.roles[r.Scope] = r
	begin()
	return nil
}

// leader is what the roster needs of *election.Elector, beside running it.
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

// announce has the database know what no crew campaigns for any more. It returns
// when it does.
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

// due is told that a term has begun or ended, and says whether moved is to be called for
// it. Terms do so by the thousand: a look that has not begun yet sees this one as well.
func (r *roster) due() bool { return !r.stale.Swap(true) }

// moved lets go on what waited for a term to begin or to end.
func (r *roster) moved() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stale.Store(false) // before looking: what happens from here on needs a look of its own
	return r.settle()
}

// settle does whatever is possible now to get what is wanted; with the lock held.
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
			placed[scope] = true // under what it was told then, until its term ends
			if _, wanted := r.want[scope]; !wanted {
				r.drop(c, scope) // also what a bid wins that was on its way
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

// place finds a crew for every wanted role that has none.
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

// joins adds a role to a crew of its terms, if there is one that can take it: a lease shorter
// than that of a crew's session needs another.
func (r *roster) joins(role config.Role) bool {
	for _, c := range r.crews {
		able := !c.stopped && c.terms == role.Terms() && reflect.DeepEqual(c.base, r.base.Election)
		if able && c.join(r.base, role) == nil {
			return true
		}
	}
	return false
}

// errRemoved is why a role ends that the configuration has no more.
var errRemoved = errors.New("the role was taken out of the configuration")

// drop drains a role that is not wanted any more.
func (r *roster) drop(c *crew, scope string) {
	r.calls.Go(func() {
		_ = c.elector.StepDown(context.Background(), election.StepDown{
			Scope: scope, Why: fmt.Errorf("%w: %w", election.ErrStepDown, errRemoved),
		}) // its end comes as a fact
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

// end stops all crews and waits until they have given up what they lead, or ctx
// ends.
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
