package node

import (
	"log/slog"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/outage"
	"github.com/conchhq/conch/election"
)

// newElector makes an elector that knows the roles, but not yet their work. It needs all of them,
// since its lease and its defaults follow from theirs.
func (n *Node) newElector(base config.Config, roles []config.Role) (elector, error) {
	cfg := base.Elector(roles...)
	cfg.ID, cfg.Mint, cfg.Events, cfg.Logger = n.id, n.mint, n.events(), outage.Hushed(n.log)
	e, err := election.New(cfg)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// events passes facts to the metrics, the outage log, Options.Fact and the set of electors.
func (n *Node) events() election.Events {
	meters, base := n.meters.Events(), n.outage.Events()
	return election.Events{
		Fact: func(f election.Fact) {
			meters.Fact(f)
			base.Fact(f)
			if n.opts.Fact != nil {
				n.opts.Fact(f)
			}
			n.reconcile(f)
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

// reconcile has the roles reconciled with the configuration after a term has begun or ended. It
// uses a goroutine: the elector's goroutine calls reconcile, and must not be called back.
func (n *Node) reconcile(f election.Fact) {
	switch f.Kind {
	case election.Acquired, election.Lost, election.Released, election.Abandoned:
	default:
		return
	}
	if !n.electors.queue() {
		return
	}
	n.calls.Go(func() {
		if err := n.electors.termsChanged(); err != nil {
			n.log.Error("a role cannot be started", slog.Any("error", err))
		}
	})
}
