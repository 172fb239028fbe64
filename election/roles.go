package election

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/conchhq/conch/election/internal/core"
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
	if known := e.runners[r.Scope]; known != nil {
		known.role, known.retired = r, false
	} else {
		e.runners[r.Scope] = newRunner(e, r)
	}
	taken := e.inbox.Put(core.Add{Seat: e.cfg.seat(r)})
	e.mu.Unlock()
	if !taken {
		return errEnded
	}
	return nil
}

var errEnded = errors.New("election: the elector has ended")

// fits fills in a role's defaults and returns an error if this elector cannot take the role.
func (e *Elector) fits(r *Role) error {
	cfg := e.cfg
	r.Lease = cmp.Or(r.Lease, cfg.Lease)
	if shortest := e.set.Lease; r.Lease >= MinLease && r.Lease < shortest {
		return fmt.Errorf("election: scope %q: a lease of %s is shorter than %s, the lease of this elector's session: use a separate elector for this role", r.Scope, r.Lease, shortest)
	}
	cfg.Roles, cfg.Lease, cfg.Heartbeat, cfg.LockTimeout = []Role{*r}, r.Lease, e.set.Heartbeat, 0
	if most := cfg.settings().LockTimeout; e.set.LockTimeout < time.Millisecond || e.set.LockTimeout > most {
		cfg.LockTimeout = e.set.LockTimeout // longer than the default of this role, so Validate checks it
	}
	return cfg.Validate()
}

// Retire ends the campaign for a scope. A running term goes on: give it up with
// [Elector.Drain], before or after. When the term has ended, the elector forgets the scope.
//
// The channel done is closed when the mint no longer lists this process as a candidate for the
// scope, when the scope is added again, or when the elector has ended. The error is
// ErrUnknownScope if no role has the scope.
func (e *Elector) Retire(scope string) (done <-chan struct{}, err error) {
	e.mu.Lock()
	r := e.runners[scope]
	if r == nil {
		e.mu.Unlock()
		return nil, fmt.Errorf("election: %w: %q", ErrUnknownScope, scope)
	}
	r.retired = true
	call := make(chan struct{})
	ticket := e.newTicket(func(error) { close(call) })
	taken := e.inbox.Put(core.Retire{Scope: scope, Ticket: ticket})
	e.mu.Unlock()
	if !taken {
		e.answerCaller(core.Answered{Ticket: ticket})
	}
	return call, nil
}

// Rest pauses the campaign for a scope for the duration d from now, so that other candidates go
// first, for example if the role fails here and may succeed elsewhere. A running term goes on. A role
// may call Rest before it returns an error.
func (e *Elector) Rest(scope string, d time.Duration) { e.inbox.Put(core.Rest{Scope: scope, For: d}) }

// newTicket returns a number for a caller who waits. The caller of newTicket holds e.mu.
func (e *Elector) newTicket(answer func(error)) uint64 {
	e.serial++
	e.waiting[e.serial] = answer
	return e.serial
}

// answerCaller answers a caller who waits.
func (e *Elector) answerCaller(a core.Answered) {
	e.mu.Lock()
	answer := e.waiting[a.Ticket]
	delete(e.waiting, a.Ticket)
	e.mu.Unlock()
	if answer != nil {
		answer(a.Err)
	}
}

// answerCallers answers all callers who still wait when the elector has ended.
func (e *Elector) answerCallers() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, answer := range e.waiting {
		answer(errEnded)
	}
	clear(e.waiting)
}

// runner returns the runner of a scope; nil if no role has the scope.
func (e *Elector) runner(scope string) *runner {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.runners[scope]
}

// forgetScope drops the runner of a retired scope, unless a role was added for it meanwhile.
func (e *Elector) forgetScope(scope string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r := e.runners[scope]; r != nil && r.retired {
		delete(e.runners, scope)
	}
}
