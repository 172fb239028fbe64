package election

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Add campaigns for one more role without disturbing the others. The first bid waits until the
// mint has registered this process as a candidate.
//
// If the elector already has the scope, Add replaces the role from the next term on; a running
// term keeps its lease and its functions. A retired scope is campaigned for again.
//
// The role's lease must not be shorter than the shortest lease of the roles in [Config], which
// is the lease of the session with the mint. Add may be called before Run.
func (e *Elector) Add(r Role) error {
	if err := e.fits(&r); err != nil {
		return err
	}
	e.mu.Lock()
	if d := e.desks[r.Scope]; d != nil {
		d.role, d.retired = r, false
		e.tellDesk(d)
	} else {
		e.desks[r.Scope] = newDesk(e, r)
	}
	e.order(Add{Seat: e.cfg.seat(r)})
	e.mu.Unlock()
	if e.ended() {
		return errEnded
	}
	return nil
}

var errEnded = errors.New("election: the elector has ended")

// fits fills in a role's defaults and returns an error if this elector cannot take the role.
func (e *Elector) fits(r *Role) error {
	cfg := e.cfg
	r.Lease = cmp.Or(r.Lease, cfg.Lease)
	if shortest := e.machine.set.Lease; r.Lease >= MinLease && r.Lease < shortest {
		return fmt.Errorf("election: scope %q: a lease of %s is shorter than %s, the lease of this elector's session: use a separate elector for this role", r.Scope, r.Lease, shortest)
	}
	cfg.Roles = []Role{*r}
	return cfg.Validate()
}

// Retire ends the campaign for a scope. A running term goes on: give it up with
// [Elector.Drain], before or after. When the term has ended, the elector forgets the scope.
//
// The channel is closed when the mint no longer lists this process as a candidate for the
// scope, when the scope is added again, or when the elector has ended. The error is
// ErrUnknownScope if no role has the scope.
func (e *Elector) Retire(scope string) (told <-chan struct{}, err error) {
	e.mu.Lock()
	d := e.desks[scope]
	if d == nil {
		e.mu.Unlock()
		return nil, fmt.Errorf("election: %w: %q", ErrUnknownScope, scope)
	}
	d.retired = true
	waits := make(chan struct{})
	d.told = append(d.told, waits)
	e.retiring++
	e.order(Retire{Scope: scope})
	e.mu.Unlock()
	if e.ended() {
		e.tellRetired(true)
	}
	return waits, nil
}

// Rest pauses the campaign for a scope for the duration d from now, so that other candidates go
// first, for example if the role fails here and may succeed elsewhere. A running term goes on. A role
// may call Rest before it returns an error.
func (e *Elector) Rest(scope string, d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.order(Rest{Scope: scope, For: d})
}

// order queues an input for the loop. It never blocks, because a caller may hold a lock that
// the loop is about to take. The caller holds e.mu.
func (e *Elector) order(in Input) {
	e.orders = append(e.orders, in)
	select {
	case e.ordered <- struct{}{}:
	default: // the loop has its signal
	}
}

// takeOrders returns the inputs queued since the last call.
func (e *Elector) takeOrders() []Input {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := e.orders
	e.orders = nil
	return all
}

func (e *Elector) ended() bool {
	select {
	case <-e.over:
		return true
	default:
		return false
	}
}

// tellRetired closes the channels of the Retire calls whose scopes the mint no longer lists for
// this candidate, or all of them if the elector is over.
func (e *Elector) tellRetired(over bool) {
	e.mu.RLock()
	none := e.retiring == 0
	e.mu.RUnlock()
	if none {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for scope, d := range e.desks {
		if over || len(d.told) > 0 && !e.machine.enrolled(scope) {
			e.tellDesk(d)
		}
	}
}

// tellDesk closes the channels of a scope's Retire calls. The caller holds e.mu.
func (e *Elector) tellDesk(d *desk) {
	for _, told := range d.told {
		close(told)
	}
	e.retiring -= len(d.told)
	d.told = nil
}

// desk returns the desk of a scope; nil if no role has the scope.
func (e *Elector) desk(scope string) *desk {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.desks[scope]
}

// clear drops the desk of a retired scope, unless a role was added for it meanwhile.
func (e *Elector) clear(scope string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if d := e.desks[scope]; d != nil && d.retired {
		e.tellDesk(d)
		delete(e.desks, scope)
	}
}
