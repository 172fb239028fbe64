//go:build unix

package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/pgraw"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
)

const sessions = 8

// fenced measures the cost of conch.fence(): the transactions per second of eight sessions with and
// without it, in turn; and the delay of a takeover by eight busy sessions that hold the fence.
func fenced(ctx context.Context, cfg Config) (r Report, err error) {
	s, err := openSite(ctx, cfg)
	defer func() { err = errors.Join(err, s.Clear()) }()
	if err != nil {
		return r, err
	}
	load, err := pgraw.OpenLoad(ctx, s.url, sessions)
	if err != nil {
		return r, err
	}
	defer load.Close()
	cfg.Say("fence: on %s, %d sessions, one small row a transaction, or a transfer between two accounts", s.about(ctx), sessions)
	if err := pairs(ctx, cfg, s, load, &r); err != nil {
		return r, err
	}
	return r, takeovers(ctx, cfg, s, load, &r)
}

// pairs measures each style in turn with and without the fence.
func pairs(ctx context.Context, cfg Config, s *site, load *pgraw.Load, r *Report) error {
	_, token, stop, err := lead(ctx, s.url, "bench-load")
	if err != nil {
		return err
	}
	defer stop()
	load.Use(token)
	for _, style := range []struct {
		name string
		pgraw.Style
	}{
		{"fenced_inside", pgraw.Style{Inside: true}},
		{"fenced_pipelined", pgraw.Style{Pipelined: true}},
		{"fenced_statements", pgraw.Style{}},
		{"fenced_transfer", pgraw.Style{Transfer: true}},
		{"fenced_pipelined_async", pgraw.Style{Pipelined: true, Async: true}},
		{"fenced_statements_async", pgraw.Style{Async: true}},
	} {
		cfg.Say("fence: %s, %d pairs of %s …", style.name, cfg.amounts().rounds, cfg.amounts().slice)
		var with, without []float64
		for i := range cfg.amounts().rounds {
			for half := range 2 {
				one := style.Style
				one.Fenced = half != i%2 // ABBA: neither is always second
				perSecond, err := slice(ctx, load, one, cfg.amounts().slice)
				if err != nil {
					return err
				}
				if one.Fenced {
					with = append(with, perSecond)
				} else {
					without = append(without, perSecond)
				}
			}
		}
		r.beside(style.name, median(with), median(without), "tx/s")
	}
	return nil
}

func slice(ctx context.Context, load *pgraw.Load, style pgraw.Style, long time.Duration) (float64, error) {
	if err := load.Prepare(ctx, style); err != nil {
		return 0, err
	}
	inner, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	perSecond, ends := load.Run(inner, style)
	err := errors.Join(ends...)
	if err == nil {
		err = ctx.Err()
	}
	return perSecond, err
}

// lead makes this process lead a scope until stop is called.
func lead(ctx context.Context, url, scope string) (gate *fence.Gate, t fence.Token, stop func(), err error) {
	mint, err := pgmint.New(pgmint.Config{URL: url})
	if err != nil {
		return nil, t, nil, err
	}
	// The role's own gate: asking the elector's would count as asking from outside, and handovers
	// wait for such answers.
	began := make(chan election.Leadership, 1)
	role := func(ctx context.Context, l election.Leadership) error {
		select {
		case began <- l:
		default:
		}
		<-ctx.Done()
		return nil
	}
	elector, err := election.New(election.Config{
		Mint: mint, ID: "bench", Roles: []election.Role{{Scope: scope, Fenced: role}},
		Lease: 10 * time.Second, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		mint.Close()
		return nil, t, nil, err
	}
	running, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = elector.Run(running) // stop ends it; a lost term shows as a refusal
	}()
	stop = func() { cancel(); <-ended; mint.Close() }
	waiting, give := context.WithTimeoutCause(ctx, patience, errNever)
	defer give()
	select {
	case l := <-began:
		return l.Gate, l.Token, stop, nil
	case <-waiting.Done():
		stop()
		return nil, t, nil, fmt.Errorf("nobody leads: %w", context.Cause(waiting))
	}
}

// takeovers measures from kill -9 of the leader while eight sessions of other processes write under
// its token as fast as they can, so that the mint has to get in between. The ceiling is the same
// without them, in turn.
func takeovers(ctx context.Context, cfg Config, s *site, load *pgraw.Load, r *Report) error {
	many := max(cfg.amounts().kills/4, 2)
	cfg.Say("fence: %d takeovers under load, %d without …", many, many)
	cl, err := startCluster(ctx, cfg, s, false, atWork)
	defer cl.endAll()
	if err != nil {
		return err
	}
	var loaded, idle []time.Duration
	discarded := 0
	for i := 0; len(loaded) < many; i++ {
		plain, err := cl.crash(ctx, i)
		if err != nil {
			return err
		}
		took, counts, err := cl.crashUnder(ctx, load, i)
		if err != nil {
			return err
		}
		if counts {
			loaded, idle = append(loaded, took), append(idle, plain)
		} else if discarded++; discarded > many {
			return fmt.Errorf("%d of %d leaders lost their term under load before they were killed: this machine is too busy", discarded, discarded+len(loaded))
		}
	}
	r.add("takeover_samples", float64(len(loaded)), "kills")
	r.add("takeover_discarded", float64(discarded), "kills")
	r.spread("takeover_under_load", loaded, idle)
	return nil
}

// refusal bounds the time until each session is refused, at its next row.
const refusal = 10 * time.Second

// crashUnder kills a leader while the load writes under its token. Each session of the load must
// stop by a refusal. The kill does not count if that leadership was over before, since the load was
// then over too.
func (cl *cluster) crashUnder(ctx context.Context, load *pgraw.Load, i int) (took time.Duration, counts bool, err error) {
	if _, _, err := cl.leader(ctx, 0, false); err != nil {
		return 0, false, err
	}
	token, err := cl.site.admin.Token(ctx, scope)
	if err != nil {
		return 0, false, err
	}
	load.Use(token)
	style := pgraw.Style{Fenced: true, Pipelined: true}
	if err := load.Prepare(ctx, style); err != nil {
		return 0, false, err
	}
	running, cancel := context.WithCancel(ctx)
	var ends []error
	before, over := load.Written(), make(chan struct{})
	go func() {
		defer close(over)
		_, ends = load.Run(running, style)
	}()
	defer func() { cancel(); <-over }()
	err = until(ctx, "the load writes", func() (bool, error) { return load.Written() > before+10*sessions, nil })
	if err != nil {
		return 0, false, err
	}
	k, err := cl.crashOnce(ctx, i)
	if err != nil {
		return 0, false, err
	}
	// A session between two rows has not been refused yet.
	bound := time.NewTimer(refusal)
	defer bound.Stop()
	select {
	case <-over:
	case <-bound.C:
	case <-ctx.Done():
	}
	cancel()
	<-over
	if ctx.Err() != nil {
		return 0, false, context.Cause(ctx)
	}
	return k.took, k.of(token.Epoch), refused(ends)
}

// refused returns nil if every session ended because its token was over.
func refused(ends []error) error {
	var faults []error
	for i, end := range ends {
		switch {
		case end == nil:
			faults = append(faults, fmt.Errorf("session %d of the load went on", i+1))
		case !errors.Is(end, fence.ErrStale):
			faults = append(faults, fmt.Errorf("session %d of the load: %w", i+1, end))
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d sessions were not refused after the takeover: %w", len(faults), len(ends), errors.Join(faults...))
}
