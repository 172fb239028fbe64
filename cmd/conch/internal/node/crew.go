package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/outage"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// found makes a crew for roles with equal terms.
func (n *Node) found(base config.Config, roles []config.Role) (*crew, error) {
	c := newCrew(roles...)
	cfg := base.Elector(roles...)
	cfg.ID, cfg.Mint, cfg.Events, cfg.Logger = n.id, n.mint, n.events(), outage.Hushed(n.log)
	beside, endBeside := context.WithCancel(n.over)
	begin := make([]func(), len(roles))
	for i, r := range roles {
		cfg.Roles[i], begin[i] = n.employ(beside, c, r, cfg.Roles[i])
	}
	e, err := election.New(cfg)
	if err != nil {
		endBeside()
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(n.gone)
	c.elector, c.stop = e, func() { cancel(n.why()) }
	c.run = func() error {
		defer endBeside()
		defer cancel(nil)
		return e.Run(ctx)
	}
	c.employ = func(base config.Config, r config.Role) (election.Role, func()) {
		return n.employ(beside, c, r, base.Elector(r).Roles[0])
	}
	for _, attend := range begin {
		attend()
	}
	return c, nil
}

// employ gives a role its work. Begin starts what goes on beside its terms, if it has such a
// thing, until the role is taken away or ctx ends.
func (n *Node) employ(ctx context.Context, c *crew, r config.Role, role election.Role) (_ election.Role, begin func()) {
	w, attend := n.services.work(r, func(why error) { n.resign(c, r.Scope, why) })
	begin = func() {}
	if w == nil {
		return role, begin
	}
	if attend != nil && !n.cfg.Election.Follower && !slices.Contains(role.Never, n.id) {
		begin = func() {
			ctx, end := context.WithCancel(ctx)
			c.besides[r.Scope] = end
			n.calls.Go(func() { attend(ctx) })
		}
	}
	w = resigning(n.counted(w), func(d time.Duration) { c.elector.Rest(r.Scope, d) })
	if r.Fenced {
		role.Fenced = w
	} else {
		role.Lead = w
	}
	return role, begin
}

// resign gives a scope up whose role has failed and cannot end: the elector waits
// for it as long as for a drain, then lets the scope go without the promise.
func (n *Node) resign(c *crew, scope string, why error) {
	n.calls.Go(func() {
		_ = c.elector.StepDown(n.over, election.StepDown{
			Scope: scope, Why: fmt.Errorf("%w: %w", election.ErrResigned, why), How: election.EndedByFailure,
		}) // its end comes as a fact
	})
}

// events go to everybody who wants to know.
func (n *Node) events() election.Events {
	meters, base := n.meters.Events(), n.outage.Events()
	return election.Events{
		Fact: func(f election.Fact) {
			meters.Fact(f)
			base.Fact(f)
			if n.opts.Fact != nil {
				n.opts.Fact(f)
			}
			n.moved(f)
		},
		Beat: func(h election.Heartbeat) {
			meters.Beat(h)
			base.Beat(h)
		},
		Attempt: func(bids election.Bidding) {
			meters.Attempt(bids)
			base.Attempt(bids)
		},
	}
}

// moved lets the roster go on with what waited for the end of a term, or did not expect one. It comes
// from the elector's own goroutine, which must not be called back.
func (n *Node) moved(f election.Fact) {
	r, ok := n.staff.(*roster)
	if !ok {
		return
	}
	switch f.Kind {
	case election.Acquired, election.Lost, election.Released, election.Abandoned:
	default:
		return
	}
	if !r.due() {
		return
	}
	n.calls.Go(func() {
		if err := r.moved(); err != nil {
			n.log.Error("a role cannot be started", slog.Any("error", err))
		}
	})
}

// counted warns of and counts what a shut gate refused (S17).
func (n *Node) counted(w Work) Work {
	return func(ctx context.Context, l election.Leadership) error {
		err := w(ctx, l)
		if shut, ok := errors.AsType[*fence.ShutError](err); ok {
			n.meters.Blocked(shut.Scope)
			n.log.Warn("refused: not the leader", slog.String("scope", shut.Scope), slog.String("holder", shut.Holder), slog.Any("error", err))
		}
		return err
	}
}
