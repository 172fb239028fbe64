package node

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// elector has the methods of *election.Elector that the node needs.
type elector interface { //nolint:interfacebloat // one method for each thing that an elector can be told or asked
	Run(ctx context.Context) error
	Status(scope string) (election.Status, bool)
	Snapshot() []election.Status
	Add(r election.Role) error
	Retire(scope string) (told <-chan struct{}, err error)
	Rest(scope string, d time.Duration)
	StepDown(ctx context.Context, s election.StepDown) error
	Gate(scope string) *fence.Gate
}

// roleGroup is one elector, and the roles that it campaigns for.
type roleGroup struct {
	elector    elector
	settings   config.ElectorSettings
	base       election.Config // defaults that completed the settings
	roles      map[string]groupRole
	background context.Context // of the roles' background work; ends when the elector has ended
	stop       context.CancelCauseFunc
	stopped    bool  // stop was called because no role was left
	err        error // of the elector, once it has ended
}

type groupRole struct {
	config.Role
	endBackground context.CancelFunc
}

// startGroup makes an elector for roles with equal settings, adds them to it, and runs it.
func (s *electorSet) startGroup(roles []config.Role) error {
	e, err := s.newElector(s.base, roles)
	if err != nil {
		return err
	}
	g := &roleGroup{elector: e, settings: roles[0].ElectorSettings(), base: s.base.Election, roles: map[string]groupRole{}}
	var endBackground context.CancelFunc
	g.background, endBackground = context.WithCancel(s.over)
	for _, r := range roles {
		if err := s.add(g, r); err != nil {
			endBackground()
			return err
		}
	}
	var ctx context.Context
	ctx, g.stop = context.WithCancelCause(s.electorsOver)
	s.groups = append(s.groups, g)
	s.calls.Go(func() {
		err := e.Run(ctx)
		g.stop(nil)
		endBackground()
		s.mu.Lock()
		defer s.mu.Unlock()
		g.err = err
		s.groups = slices.DeleteFunc(s.groups, func(o *roleGroup) bool { return o == g && !s.ended })
	})
	return nil
}

// add gives a role its work and adds it to the elector of a group, which may be running.
func (s *electorSet) add(g *roleGroup, r config.Role) error {
	role := s.base.Elector(r).Roles[0]
	w, background := s.work(r, func(why error) { s.resign(g.elector, r.Scope, why) })
	if w != nil {
		w = restAfterFailure(w, func(d time.Duration) { g.elector.Rest(r.Scope, d) })
	}
	if r.Fenced {
		role.Fenced = w
	} else {
		role.Lead = w
	}
	if err := g.elector.Add(role); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(g.background)
	g.roles[r.Scope] = groupRole{r, cancel}
	if background != nil && !s.base.Election.Follower && !slices.Contains(r.Never, s.base.Election.ID) {
		s.spawn(func() { background(ctx) })
	}
	return nil
}

// resign gives up the scope of a role that has failed and cannot end. The elector waits for
// the role as long as for a drain, and then abandons the scope without releasing it.
func (s *electorSet) resign(e elector, scope string, why error) {
	s.calls.Go(func() {
		_ = e.StepDown(s.over, election.StepDown{
			Scope: scope, Why: fmt.Errorf("%w: %w", election.ErrResigned, why), How: mint.EndedByFailure,
		}) // the outcome comes as a fact
	})
}

// leading lists the scopes that the group's elector leads, removed roles included.
func (g *roleGroup) leading() (scopes []string) {
	for _, s := range g.elector.Snapshot() {
		if s.Leading {
			scopes = append(scopes, s.Scope)
		}
	}
	return scopes
}
