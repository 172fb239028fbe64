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
	"github.com/conchhq/conch/fence"
)

// roster keeps the electors of a node in step with the roles that it should have.
// An elector's roles are fixed for its life and all share its terms, so the roster
// has one elector, a crew, for each set of equal terms, and a further one for what
// a reload adds. A role that goes is retired from its crew's ballot and drained; a
// role that changes is retired and goes on, with what is new, when its term ends.
type roster struct {
	found func(base config.Config, roles []config.Role) (*crew, error)
	stale atomic.Bool // moved is to be called, and has not begun to look

	mu    sync.Mutex
	base  config.Config
	want  map[string]config.Role // by scope
	crews []*crew
	ended bool
	calls sync.WaitGroup // drains, and crews that run
}

// crew is one elector and the roles that it has not been retired from.
type crew struct {
	elector leader
	ballot  *ballot
	roles   map[string]config.Role
	scopes  []string                      // that its elector was made for, retired ones too
	besides map[string]context.CancelFunc // ends what goes on beside a role's terms, for roles that have such a thing
	stop    context.CancelFunc
	run     func() error
	err     error // once it has ended
}

// leader is what the roster needs of *election.Elector, beside running it.
type leader interface {
	Status(scope string) (election.Status, bool)
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
	crews := slices.Clone(r.crews)
	r.mu.Unlock()
	var telling sync.WaitGroup
	for _, c := range crews {
		telling.Go(func() { c.ballot.telling(ctx) })
	}
	telling.Wait()
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
			c.ballot.retire(scope)
			delete(c.roles, scope)
			if end := c.besides[scope]; end != nil {
				end()
			}
		}
	}
	for _, c := range r.crews {
		leads := c.leads()
		for _, scope := range leads {
			placed[scope] = true // under what it was told then, until its term ends
			if _, wanted := r.want[scope]; !wanted {
				r.drop(c, scope) // also what a bid wins that was on its way
			}
		}
		if len(c.roles) == 0 && len(leads) == 0 {
			c.stop()
		}
	}
	return r.place(placed)
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
		c, err := r.found(r.base, groups[terms])
		if err != nil {
			faults = append(faults, err)
			continue
		}
		for _, role := range groups[terms] {
			c.scopes = append(c.scopes, role.Scope)
		}
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
	for _, scope := range c.scopes {
		if s, _ := c.elector.Status(scope); s.Leading {
			scopes = append(scopes, scope)
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
