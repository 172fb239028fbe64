package assemble

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// work is what a role does while it leads. It returns only when everything that
// it began has ended.
type work func(ctx context.Context, l election.Leadership) error

// work of a role; nil when only its gate is kept. A callback that can not end gives
// the scope up by resign, nil where nobody else could take it. Beside it comes what is
// done while the role waits to lead, and between its terms: nil for most.
func (n *Node) work(r config.Role, resign func(why error)) (w work, beside func(context.Context)) {
	door := fence.Act
	if r.Fenced {
		door = fence.Fenced
	}
	switch {
	case r.Account != nil:
		s := &sender{node: n, account: *r.Account}
		return s.lead, s.attend
	case r.Files != nil:
		return n.lead(*r.Files), nil
	case r.Command != nil:
		return n.command(r, door), nil
	case r.HTTP != "":
		return newCallback(n.gone, r.HTTP, n.id, door, r.DrainTimeout, resign, n.log).lead, nil
	case r.Builtin == config.BuiltinLog:
		return n.beacon(door), nil
	}
	return nil, nil
}

const (
	beaconEvery = time.Second
	beaconMost  = 50 * time.Millisecond
)

// beacon logs a line now and then: the smallest role, for trials.
func (n *Node) beacon(door fence.Door) work {
	return func(ctx context.Context, l election.Leadership) error {
		tick := time.NewTicker(beaconEvery)
		defer tick.Stop()
		for ctx.Err() == nil {
			err := l.Gate.Do(ctx, door, beaconMost, func(_ context.Context, t fence.Token) error {
				n.log.Info("leading", slog.String("scope", t.Scope), slog.Int64("epoch", t.Epoch))
				return nil
			})
			if err == nil {
				l.Progress()
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
		return nil
	}
}

// Pauses after a role that failed, before this node campaigns for it again.
const (
	restFirst = time.Second
	restMost  = time.Minute
	settled   = 10 * time.Second // a role that worked so long begins with the first again
)

// resigning makes a role that fails rest, longer each time: others may have more
// luck with it, and if nobody has, the scope does not change hands all the time.
func resigning(w work, rest func(time.Duration)) work {
	pause := restFirst // one term at a time runs the role
	return func(ctx context.Context, l election.Leadership) error {
		began := time.Now()
		err := w(ctx, l)
		own := ctx.Err() == nil || errors.Is(context.Cause(ctx), election.ErrResigned)
		if !own || time.Since(began) > settled {
			pause = restFirst
		}
		if own && err != nil {
			rest(pause)
			pause = min(2*pause, restMost)
		}
		return err
	}
}
