package roles

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/keeper"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// Kind is the service of [[roles]].
func Kind() node.Kind {
	return node.Kind{
		Section: func() config.Section { return new(Section) },
		Check:   check,
		Open:    func(f node.Frame) node.Service { return &service{frame: f} },
	}
}

// check looks for commands that do not exist.
func check(c config.Config, fault func(key string, err error)) {
	for i, r := range config.Of[*Section](c).roles {
		if job, _ := r.Does.(Job); len(job.Command) > 0 {
			_, err := keeper.Runnable(job.Command[0])
			fault(fmt.Sprintf("roles[%d].command", i), err)
			if job.User != "" {
				fault(fmt.Sprintf("roles[%d].user", i), keeper.CanBecome(job.User))
			}
		}
	}
}

type service struct {
	node.Plain
	frame node.Frame
}

// Work implements node.Service.
func (s *service) Work(r config.Role, resign func(why error)) (w node.Work, background func(context.Context)) {
	door := fence.Act
	if r.Fenced {
		door = fence.Fenced
	}
	job, _ := r.Does.(Job)
	switch {
	case job.Command != nil:
		return s.command(r, job, door), nil
	case job.HTTP != "":
		return newCallback(s.frame, job.HTTP, door, r.DrainTimeout, resign).lead, nil
	case job.Builtin == builtinLog:
		return s.beacon(door), nil
	case job.Builtin == builtinCompaction:
		return s.compact(door, cmp.Or(job.Keep, builtins[job.Builtin].keep)), nil
	case job.Builtin == builtinAggregation:
		own := builtins[job.Builtin]
		return s.aggregate(door, node.Slot{Every: cmp.Or(job.Every, own.every), Keep: cmp.Or(job.Keep, own.keep)}), nil
	}
	return nil, nil
}

const (
	beaconEvery = time.Second
	beaconMost  = 50 * time.Millisecond
)

// beacon logs a line each second: the smallest role, for trials.
func (s *service) beacon(door fence.Door) node.Work {
	return func(ctx context.Context, l election.Leadership) error {
		tick := time.NewTicker(beaconEvery)
		defer tick.Stop()
		for ctx.Err() == nil {
			err := l.Gate.Do(ctx, door, beaconMost, func(_ context.Context, t fence.Token) error {
				s.frame.Log.Info("leading", slog.String("scope", t.Scope), slog.Int64("epoch", t.Epoch))
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
