package pgmint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/conchhq/conch/election"
)

// ErrHeld says that somebody else leads; TryDo's error wraps it and names the holder.
var ErrHeld = errors.New("somebody else leads")

// Do waits until this process leads the scope, runs f once behind the act door, and gives
// the scope up: for work that has to be done by one process at a time, and ends. It uses a
// session of its own for as long as it takes. F gets a context that ends when leadership
// does, and has to end then; what is fenced passes Leadership.Token.
//
// The error is f's own; why leadership ended, if it did before f returned; or ctx's, if it
// ended first. For work that goes on use an [election.Elector].
func Do(ctx context.Context, mint election.Mint, scope string, f func(ctx context.Context, l election.Leadership) error) error {
	return once(ctx, mint, scope, f, func(election.Fact) error { return nil })
}

// TryDo is Do for a process that has better things to do than to wait: if somebody else
// leads the scope it returns an error that wraps ErrHeld, and f was not run. A predecessor
// that crashed less than a lease ago is waited for.
func TryDo(ctx context.Context, mint election.Mint, scope string, f func(ctx context.Context, l election.Leadership) error) error {
	return once(ctx, mint, scope, f, func(told election.Fact) error {
		if told.Kind == election.Following {
			return fmt.Errorf("%w: %q is led by %s", ErrHeld, scope, told.Holder)
		}
		return nil
	})
}

// once runs f in the first term, unless leave says before that it is not waited for.
func once(ctx context.Context, mint election.Mint, scope string, f func(context.Context, election.Leadership) error, leave func(election.Fact) error) error {
	campaign, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var ran atomic.Bool
	var outcome error // of f; read after the elector has ended
	elector, err := election.New(election.Config{
		Mint: mint, Logger: slog.New(slog.DiscardHandler), // an error says it
		Roles: []election.Role{{Scope: scope, Lead: func(term context.Context, l election.Leadership) error {
			select {
			case <-campaign.Done(): // it ended while the scope was won
				return nil
			default:
			}
			ran.Store(true)
			if outcome = f(term, l); outcome == nil && term.Err() != nil {
				outcome = context.Cause(term)
			}
			stop(nil) // before the elector hears of the end, and bids again
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
