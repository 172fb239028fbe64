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
	c := &crew{ballot: newBallot(n.mint, n.mint.Withdraw), roles: map[string]config.Role{}, besides: map[string]context.CancelFunc{}}
	cfg := base.Elector(roles...)
	cfg.ID, cfg.Mint, cfg.Events, cfg.Logger = n.id, c.ballot, n.events(c.ballot), outage.Hushed(n.log)
	var beside []func()
	for i, r := range roles {
		c.roles[r.Scope] = r
		w, attend := n.services.work(r, func(why error) { n.resign(c, r.Scope, why) })
		if w == nil {
			continue
		}
		if attend != nil && !cfg.Follower && !slices.Contains(cfg.Roles[i].Never, n.id) {
			ctx, end := context.WithCancel(n.over)
			c.besides[r.Scope] = end
			beside = append(beside, func() { attend(ctx) })
		}
		w = resigning(n.counted(w), func(d time.Duration) { c.ballot.rest(r.Scope, d) })
		if r.Fenced {
			cfg.Roles[i].Fenced = w
		} else {
			cfg.Roles[i].Lead = w
		}
	}
	e, err := election.New(cfg)
	if err != nil {
		c.alone()
		return nil, err
	}
	ctx, cancel := context.WithCancel(n.gone)
	c.elector, c.stop = e, cancel
	c.run = func() error {
		defer cancel()
		defer c.alone()
		for _, attend := range beside {
			n.calls.Go(attend)
		}
		return e.Run(ctx)
	}
	return c, nil
}

// alone ends what goes on beside the terms.
func (c *crew) alone() {
	for _, end := range c.besides {
		end()
	}
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
func (n *Node) events(b *ballot) election.Events {
	meters, base := n.meters.Events(), n.outage.Events()
	return election.Events{
		Fact: func(f election.Fact) {
			meters.Fact(f)
			base.Fact(f)
			n.moved(f)
		},
		Beat: func(h election.Heartbeat) {
			meters.Beat(h)
			base.Beat(h)
		},
		Attempt: func(bids election.Bidding) {
			meters.Attempt(b.cast(bids))
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
