package election

import (
	"errors"
	"fmt"
	"time"
)

// Add campaigns for one more role, without disturbing the others. The first bid waits until
// the mint knows that this process is a candidate.
//
// For a scope that the elector has already, Add replaces the role from its next term on; a
// term that is under way keeps its lease and its functions. A scope that was retired is
// campaigned for again.
//
// The role's lease must not be below the shortest of the roles in [Config], which is
// the lease of the session with the mint; the error says so. It may be called
// before Run.
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

// fits fills in a role's defaults and reports whether this elector can take it.
func (e *Elector) fits(r *Role) error {
	cfg := e.cfg
	r.Lease = or(r.Lease, cfg.Lease)
	if shortest := e.machine.set.Lease; r.Lease >= MinLease && r.Lease < shortest {
		return fmt.Errorf("election: scope %q: a lease of %s is shorter than %s, the lease of this elector's session: give the role to an elector of its own", r.Scope, r.Lease, shortest)
	}
	cfg.Roles = []Role{*r}
	return cfg.Validate()
}

// Retire ends the campaign for a scope. A term that is under way goes on: give it up with
// [Elector.Drain], before or after. Once it has ended, the scope is unknown to the elector.
//
// Told is closed when the mint no longer has this process among the scope's candidates, when
// the scope is added again, or when the elector has ended. The error is ErrUnknownScope if no
// role has the scope.
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

// Rest pauses the campaign for a scope, so that other candidates go first: for a role that
// fails here and may do better elsewhere. A term that is under way goes on, and the pause
// counts from now.
func (e *Elector) Rest(scope string, d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.order(Rest{Scope: scope, For: d})
}

// order leaves an input for the loop, which takes all of them at once, and waits for nobody:
// a caller may hold a lock that the loop is about to ask for. With the elector's lock held.
func (e *Elector) order(in Input) {
	e.orders = append(e.orders, in)
	select {
	case e.ordered <- struct{}{}:
	default: // the loop is told already
	}
}

// takeOrders is what was ordered since it was last asked.
func (e *Elector) takeOrders() Input {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := e.orders
	e.orders = nil
	return Several{Inputs: all}
}

func (e *Elector) ended() bool {
	select {
	case <-e.over:
		return true
	default:
		return false
	}
}

// tellRetired tells of the scopes for which the mint no longer has this candidate; of all,
// if the elector has ended.
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

// tellDesk closes what the callers of Retire wait for; with the lock held.
func (e *Elector) tellDesk(d *desk) {
	for _, told := range d.told {
		close(told)
	}
	e.retiring -= len(d.told)
	d.told = nil
}

// desk finds the desk of a scope; nil if no role has it.
func (e *Elector) desk(scope string) *desk {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.desks[scope]
}

// clear drops the desk of a scope, unless a role has come for it meanwhile.
func (e *Elector) clear(scope string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if d := e.desks[scope]; d != nil && d.retired {
		e.tellDesk(d)
		delete(e.desks, scope)
	}
}
