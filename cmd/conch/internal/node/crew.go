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

// employ gives a role its work. If the role has work beside its terms, begin starts that; it
// ends when the role is removed or ctx ends.
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

// resign gives up the scope of a role that has failed and cannot end. The elector waits for
// the role as long as for a drain, and then abandons the scope without releasing it.
func (n *Node) resign(c *crew, scope string, why error) {
	n.calls.Go(func() {
		_ = c.elector.StepDown(n.over, election.StepDown{
			Scope: scope, Why: fmt.Errorf("%w: %w", election.ErrResigned, why), How: election.EndedByFailure,
		}) // the outcome comes as a fact
	})
}

// events passes facts to the metrics, the outage log, Options.Fact and the roster.
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

// moved has the roster act on a term that has begun or ended. It uses a goroutine of its own:
// the elector's goroutine calls moved, and must not be called back.
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

// counted logs and counts work that a shut gate refused (S17).
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
