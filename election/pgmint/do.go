package pgmint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/mint"
)

// ErrHeld says that another process leads. The error of TryDo wraps it and names the holder.
var ErrHeld = errors.New("another process leads")

// Do waits until this process leads the scope, runs f once, with the act door open, and gives the
// scope up. It is for work that ends and that only one process at a time may do; for work that goes
// on, use an [election.Elector]. Do opens a session for this one call. The context of f ends with
// the leadership, and f must return then; fenced transactions pass Leadership.Token.
//
// Do returns the error of f, the reason if the leadership ended before f returned, or the error of
// ctx if ctx ended before f ran.
func Do(ctx context.Context, m mint.Mint, scope string, f func(ctx context.Context, l election.Leadership) error) error {
	return once(ctx, m, scope, f, func(election.Fact) error { return nil })
}

// TryDo is Do without the wait for a leader: if another process leads the scope, it returns an error
// that wraps ErrHeld and does not run f. It does wait for the lease of a predecessor that crashed.
func TryDo(ctx context.Context, m mint.Mint, scope string, f func(ctx context.Context, l election.Leadership) error) error {
	return once(ctx, m, scope, f, func(told election.Fact) error {
		if told.Kind == election.Following {
			return fmt.Errorf("pgmint: %w: %q is led by %s", ErrHeld, scope, told.Holder)
		}
		return nil
	})
}

// once runs f in the first term that it wins, unless leave returns an error before.
func once(ctx context.Context, m mint.Mint, scope string, f func(context.Context, election.Leadership) error, leave func(election.Fact) error) error {
	campaign, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var ran atomic.Bool
	var outcome error // of f; read once the elector has ended
	elector, err := election.New(election.Config{
		Mint: m, Logger: slog.New(slog.DiscardHandler), // the returned error says enough
		Roles: []election.Role{{Scope: scope, Lead: func(term context.Context, l election.Leadership) error {
			select {
			case <-campaign.Done(): // the campaign ended while the bid won
				return nil
			default:
			}
			ran.Store(true)
			if outcome = f(term, l); outcome == nil && term.Err() != nil {
				outcome = context.Cause(term)
			}
			stop(nil) // before the elector learns that f returned, and bids again
			return outcome
		}}},
		Events: election.Events{Fact: func(told election.Fact) {
			if why := leave(told); why != nil && !ran.Load() {
				stop(why)
			}
		}},
	})
	if err != nil {
		return err
	}
	err = elector.Run(campaign)
	switch {
	case ran.Load():
		return errors.Join(outcome, err)
	case errors.Is(context.Cause(campaign), ErrHeld):
		return context.Cause(campaign)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return err
}
