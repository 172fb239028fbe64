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

// To the API and to operators, a set looks like one elector with all scopes.

// groupOf returns the group that leads a scope, or else the one that campaigns for it; nil if there
// is none.
func (s *electorSet) groupOf(scope string) *roleGroup {
	s.mu.Lock()
	defer s.mu.Unlock()
	var campaigns *roleGroup
	for _, g := range s.groups {
		if status, _ := g.elector.Status(scope); status.Leading {
			return g
		}
		if _, ok := g.roles[scope]; ok {
			campaigns = g
		}
	}
	return campaigns
}

func (s *electorSet) Scopes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.want))
}

// Gate returns the gate of a scope; nil if the node has no role for the scope.
func (s *electorSet) Gate(scope string) *fence.Gate {
	if g := s.groupOf(scope); g != nil {
		return g.elector.Gate(scope)
	}
	return nil
}

// Status returns the status of a scope; false if the node has no role for the scope.
func (s *electorSet) Status(scope string) (election.Status, bool) {
	if g := s.groupOf(scope); g != nil {
		return g.elector.Status(scope)
	}
	return election.Status{}, false
}

// Snapshot returns one status per scope, ordered by scope.
func (s *electorSet) Snapshot() []election.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]election.Status{}
	for _, g := range s.groups {
		for _, one := range g.elector.Snapshot() {
			if _, ok := g.roles[one.Scope]; one.Leading || ok && !all[one.Scope].Leading {
				all[one.Scope] = one
			}
		}
	}
	out := make([]election.Status, 0, len(all))
	for _, scope := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[scope])
	}
	return out
}

func (s *electorSet) StepDown(ctx context.Context, down election.StepDown) error {
	g := s.groupOf(down.Scope)
	if g == nil {
		return fmt.Errorf("%w: %q", election.ErrUnknownScope, down.Scope)
	}
	if down.Timeout == 0 {
		down.Timeout = s.drainTimeout(down.Scope)
	}
	return g.elector.StepDown(ctx, down)
}

// Warm does nothing: no role of a node needs warming.
func (*electorSet) Warm(context.Context, string) error { return nil }

func (s *electorSet) drainTimeout(scope string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.want[scope].DrainTimeout
}
