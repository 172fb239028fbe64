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

	"github.com/conchhq/conch/cmd/conch/internal/backoff"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// alone is the staff of a standalone node (S18). Every gate is open without an election, and
// nothing prevents a second copy from doing the same.
type alone struct {
	node *Node
	work func(r config.Role) (w Work, beside func(context.Context))

	mu      sync.Mutex
	posts   map[string]*post
	leaving map[string]*post // asked to end and not over; the next post of the scope waits
	calls   sync.WaitGroup
}

// post is one running role.
type post struct {
	role config.Role
	gate *fence.Gate
	stop context.CancelCauseFunc
	over chan struct{}
}

// errAlone is returned for drain and transfer on a standalone node.
var errAlone = errors.New("this node is standalone: there is nobody to hand over to")

func newAlone(n *Node, does func(config.Role) (Work, func(context.Context))) *alone {
	return &alone{node: n, work: does, posts: map[string]*post{}, leaving: map[string]*post{}}
}

func (a *alone) assign(base config.Config) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	want := map[string]config.Role{}
	for _, r := range base.Settled() {
		want[r.Scope] = r
	}
	for scope, p := range a.posts {
		if r, ok := want[scope]; !ok || !reflect.DeepEqual(r, p.role) {
			p.stop(election.ErrStepDown)
			delete(a.posts, scope)
			a.leaving[scope] = p
		}
	}
	for scope, r := range want {
		if a.posts[scope] == nil {
			a.posts[scope] = a.begin(r, a.leaving[scope])
		}
	}
	return nil
}

// begin starts a role once the previous post of its scope has ended.
func (a *alone) begin(r config.Role, before *post) *post {
	p := &post{role: r, gate: fence.Standalone(r.Scope, a.node.id), over: make(chan struct{})}
	var ctx context.Context
	ctx, p.stop = context.WithCancelCause(a.node.over)
	a.calls.Go(func() {
		defer a.left(p)
		if before != nil {
			<-before.over
		}
		w, beside := a.work(p.role)
		if beside != nil {
			a.calls.Go(func() { beside(ctx) })
		}
		if w != nil {
			a.keep(ctx, p, w)
		}
	})
	return p
}

func (a *alone) left(p *post) {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(p.over)
	if a.leaving[p.role.Scope] == p {
		delete(a.leaving, p.role.Scope)
	}
}

// keep restarts a role whenever it ends, since no other node could take over.
func (a *alone) keep(ctx context.Context, p *post, w Work) {
	rests := backoff.Pauses{First: restFirst, Most: restMost}
	for ctx.Err() == nil {
		token, err := p.gate.Require(fence.Act)
		if err != nil {
			return
		}
		began := time.Now()
		err = w(ctx, election.Leadership{Token: token, Gate: p.gate})
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			a.node.meters.Failed(p.role.Scope, err)
		}
		pause := rests.After(time.Since(began))
		a.node.log.Warn("the role has ended and will be restarted", slog.String("scope", p.role.Scope), slog.Any("error", err), slog.Duration("in", pause))
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// end stops all roles and waits for them, at most for the longest of their drain timeouts.
func (a *alone) end(ctx context.Context) error {
	a.mu.Lock()
	longest := time.Duration(0)
	for _, p := range a.posts {
		p.stop(election.ErrStepDown)
		longest = max(longest, p.role.DrainTimeout)
	}
	for _, p := range a.leaving {
		longest = max(longest, p.role.DrainTimeout)
	}
	a.mu.Unlock()
	over := make(chan struct{})
	go func() { a.calls.Wait(); close(over) }()
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

func (a *alone) Scopes() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(maps.Keys(a.posts))
}

// Gate returns the gate of a scope, which is open; nil if the node has no role for the scope.
func (a *alone) Gate(scope string) *fence.Gate {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := a.posts[scope]; p != nil {
		return p.gate
	}
	return nil
}

func (a *alone) Status(scope string) (election.Status, bool) {
	return election.Status{Scope: scope, Leading: true, Entered: true, Holder: a.node.id}, a.Gate(scope) != nil
}

func (a *alone) StepDown(_ context.Context, s election.StepDown) error {
	if a.Gate(s.Scope) == nil {
		return fmt.Errorf("%w: %q", election.ErrUnknownScope, s.Scope)
	}
	return errAlone
}

func (a *alone) Snapshot() []election.Status {
	var all []election.Status
	for _, scope := range a.Scopes() {
		if s, ok := a.Status(scope); ok {
			all = append(all, s)
		}
	}
	return all
}

func (*alone) Warm(context.Context, string) error { return nil }
