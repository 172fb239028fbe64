package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pause"
)

// standalone runs the roles of a standalone node (S18). Every gate is open without an election, and
// nothing prevents a second copy from doing the same.
type standalone struct {
	node *Node
	work func(r config.Role, resign func(why error)) (w Work, background func(ctx context.Context)) // Node.work

	mu      sync.Mutex
	running map[string]*standaloneRole
	ending  map[string]*standaloneRole // asked to end and not over; the next run of the scope waits
	calls   sync.WaitGroup
}

// standaloneRole is one role from its start until it is removed or changed.
type standaloneRole struct {
	role config.Role
	gate *fence.Gate
	stop context.CancelCauseFunc
	over chan struct{}
}

// errStandalone is returned for drain and transfer on a standalone node.
var errStandalone = errors.New("this node is standalone: there is nobody to hand over to")

func newStandalone(n *Node) *standalone {
	return &standalone{node: n, work: n.work, running: map[string]*standaloneRole{}, ending: map[string]*standaloneRole{}}
}

func (s *standalone) assign(base config.Config) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	want := byScope(base)
	for scope, one := range s.running {
		if r, ok := want[scope]; !ok || !reflect.DeepEqual(r, one.role) {
			one.stop(election.ErrStepDown)
			delete(s.running, scope)
			s.ending[scope] = one
		}
	}
	for scope, r := range want {
		if s.running[scope] == nil {
			s.running[scope] = s.start(r, s.ending[scope])
		}
	}
	return nil
}

// start starts a role once the previous run of its scope has ended.
func (s *standalone) start(r config.Role, before *standaloneRole) *standaloneRole {
	one := &standaloneRole{role: r, gate: fence.Standalone(r.Scope, s.node.id), over: make(chan struct{})}
	var ctx context.Context
	ctx, one.stop = context.WithCancelCause(s.node.over)
	s.calls.Go(func() {
		defer s.forget(one)
		if before != nil {
			<-before.over
		}
		w, background := s.work(r, nil)
		if background != nil {
			s.calls.Go(func() { background(ctx) })
		}
		if w != nil {
			s.supervise(ctx, one, w)
		}
	})
	return one
}

// forget notes that a role has ended.
func (s *standalone) forget(one *standaloneRole) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(one.over)
	if s.ending[one.role.Scope] == one {
		delete(s.ending, one.role.Scope)
	}
}

// supervise restarts a role whenever it ends, since no other node could take over. It runs the work of
// any service again. keeper.Supervise runs inside one such work: it starts a command again within a
// term, and judges by the reports of the command's keeper whether to.
func (s *standalone) supervise(ctx context.Context, one *standaloneRole, w Work) {
	pauses := pause.Growing{First: firstRest, Most: longestRest}
	for ctx.Err() == nil {
		token, err := one.gate.Require(fence.Act)
		if err != nil {
			return
		}
		began := time.Now()
		err = w(ctx, election.Leadership{Token: token, Gate: one.gate})
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			s.node.meters.Failed(one.role.Scope, err)
		}
		wait := pauses.After(time.Since(began))
		s.node.log.Warn("the role has ended and will be restarted", slog.String("scope", one.role.Scope), slog.Any("error", err), slog.Duration("in", wait))
		_ = pause.For(ctx, wait)
	}
}

// end stops all roles and waits for them, at most for the longest of their drain timeouts.
func (s *standalone) end(ctx context.Context, _ error) error {
	s.mu.Lock()
	longest := time.Duration(0)
	for _, one := range s.running {
		one.stop(election.ErrStepDown)
		longest = max(longest, one.role.DrainTimeout)
	}
	for _, one := range s.ending {
		longest = max(longest, one.role.DrainTimeout)
	}
	s.mu.Unlock()
	over := make(chan struct{})
	go func() { s.calls.Wait(); close(over) }()
	timer := time.NewTimer(longest)
	defer timer.Stop()
	select {
	case <-over:
		return nil
	case <-timer.C:
		return election.ErrDrainTimeout
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *standalone) Scopes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.running))
}

// Gate returns the gate of a scope, which is open; nil if the node has no role for the scope.
func (s *standalone) Gate(scope string) *fence.Gate {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.running[scope]; one != nil {
		return one.gate
	}
	return nil
}

func (s *standalone) Status(scope string) (election.Status, bool) {
	return election.Status{Scope: scope, Leading: true, Entered: true, Holder: s.node.id}, s.Gate(scope) != nil
}

func (s *standalone) StepDown(_ context.Context, down election.StepDown) error {
	if s.Gate(down.Scope) == nil {
		return fmt.Errorf("%w: %q", election.ErrUnknownScope, down.Scope)
	}
	return errStandalone
}

func (s *standalone) Snapshot() []election.Status {
	var all []election.Status
	for _, scope := range s.Scopes() {
		if status, ok := s.Status(scope); ok {
			all = append(all, status)
		}
	}
	return all
}

func (*standalone) Warm(context.Context, string) error { return nil }
