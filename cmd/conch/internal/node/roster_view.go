package node

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// To the API and to operators, a roster looks like one elector with all scopes.

// pick returns the crew that leads a scope, or else one that campaigns for it.
func (r *roster) pick(scope string) *crew {
	r.mu.Lock()
	defer r.mu.Unlock()
	var may *crew
	for _, c := range r.crews {
		if s, _ := c.elector.Status(scope); s.Leading {
			return c
		}
		if _, ok := c.roles[scope]; ok {
			may = c
		}
	}
	return may
}

func (r *roster) Scopes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.want))
}

// Gate returns the gate of a scope; nil if the node has no role for the scope.
func (r *roster) Gate(scope string) *fence.Gate {
	if c := r.pick(scope); c != nil {
		return c.elector.Gate(scope)
	}
	return nil
}

// Status returns the status of a scope; false if the node has no role for the scope.
func (r *roster) Status(scope string) (election.Status, bool) {
	if c := r.pick(scope); c != nil {
		return c.elector.Status(scope)
	}
	return election.Status{}, false
}

// Snapshot returns one status per scope, ordered by scope.
func (r *roster) Snapshot() []election.Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[string]election.Status{}
	for _, c := range r.crews {
		for _, s := range c.elector.Snapshot() {
			if _, ok := c.roles[s.Scope]; s.Leading || ok && !all[s.Scope].Leading {
				all[s.Scope] = s
			}
		}
	}
	out := make([]election.Status, 0, len(all))
	for _, scope := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[scope])
	}
	return out
}

func (r *roster) StepDown(ctx context.Context, s election.StepDown) error {
	c := r.pick(s.Scope)
	if c == nil {
		return fmt.Errorf("%w: %q", election.ErrUnknownScope, s.Scope)
	}
	if s.Timeout == 0 {
		s.Timeout = r.patience(s.Scope)
	}
	return c.elector.StepDown(ctx, s)
}

// Warm does nothing: no role of a node needs warming.
func (*roster) Warm(context.Context, string) error { return nil }

func (r *roster) patience(scope string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.want[scope].DrainTimeout
}
