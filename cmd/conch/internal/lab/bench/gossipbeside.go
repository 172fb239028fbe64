//go:build unix

package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/members"
)

// besideAll measures the other libraries once, if they are there.
func besideAll(ctx context.Context, cfg Config, listed, served *found) error {
	if cfg.Members == "" {
		return nil
	}
	a := cfg.amounts()
	if err := beside(ctx, cfg, members.Memberlist, a.crashes, listed); err != nil {
		return err
	}
	return beside(ctx, cfg, members.Serf, a.news, served)
}

// beside measures another library once.
func beside(ctx context.Context, cfg Config, library string, times int, t *found) error {
	a := cfg.amounts()
	cfg.Say("gossip: %d members of %s, %d times …", a.crowd, library, times)
	var m meter
	load := members.Load{Nodes: a.crowd, Times: times, Settle: a.settle, Rest: a.ease}
	return members.Run(ctx, cfg.Members, library, load, func(pid int, l members.Line) {
		switch l.Kind {
		case members.Cold:
			t.cold = append(t.cold, durations(l.Took)...)
		case members.Resting:
			m = startMeter(pid)
		case members.Rested:
			t.rest.add(a.crowd, m.stop(), float64(l.Messages), float64(l.Bytes))
		case members.Crash:
			t.crashes = append(t.crashes, durations(l.Took)...)
		case members.News:
			t.news, t.missed = append(t.news, durations(l.Took)...), t.missed+l.Missed
		}
	})
}

func durations(inMS []float64) []time.Duration {
	all := make([]time.Duration, 0, len(inMS))
	for _, one := range inMS {
		all = append(all, time.Duration(one*float64(time.Millisecond)))
	}
	return all
}

// thousands measures what an agent of thousands sends, in the simulator: what a longer run has sent more than a shorter one
// that is otherwise the same.
func thousands(ctx context.Context, cfg Config, r *Report) error {
	a := cfg.amounts()
	cfg.Say("gossip: %d agents in the simulator …", a.simulated)
	const short, long, perSecond = 60, 160, 10 // rounds
	var bytes [2]int64
	for i, rounds := range []int{short, long} {
		stats, err := simulated(ctx, "--nodes %d --electors %d --scene calm --rounds %d", a.simulated, a.electors, rounds)
		if err != nil {
			return err
		}
		bytes[i] = stats["bytes"]
	}
	each := float64(bytes[1]-bytes[0]) / float64(a.simulated) / (long - short) * perSecond
	r.beside(fmt.Sprintf("rest_%d_bytes", a.simulated), each, askedAtRest, "bytes/s")
	return nil
}
