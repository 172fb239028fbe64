package fence

import (
	"context"
	"errors"
	"time"
)

// Do runs one act of at most the given length if the door stays open for all of
// it: iff now + most < deadline. Otherwise it returns a *[ShutError] and does
// not call act. The context ends when the door's present deadline passes or the
// gate is shut, its cause says why. Do returns what act returned.
//
// Acts are counted: a leader that steps down waits for those under way before
// it lets go of the leadership.
func (g *Gate) Do(ctx context.Context, d Door, most time.Duration, act func(context.Context, Token) error) error {
	if g.tenure.Load() == nil {
		return g.refusal(d, nil) // not counted: asking a shut gate holds up no draining
	}
	// Counted before the check: a latch that shuts the gate and then sees no act
	// under way knows that none will begin.
	g.acts.Add(1)
	defer g.done()

	t := g.tenure.Load()
	if t == nil {
		return g.refusal(d, nil)
	}
	now := g.now()
	deadline, why := t.check(d, now, most)
	if why != nil {
		return g.refusal(d, why)
	}
	ctx, cancel := t.bind(ctx, deadline.Sub(now))
	defer cancel()
	return act(ctx, t.token)
}

// bind derives a context that ends with the tenure or when the time left is up.
func (t *tenure) bind(ctx context.Context, left time.Duration) (context.Context, func()) {
	ctx, stop := context.WithTimeoutCause(ctx, left, ErrLate)
	ctx, end := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(t.ctx, func() { end(context.Cause(t.ctx)) })
	return ctx, func() {
		unhook()
		end(nil)
		stop()
	}
}

func (g *Gate) done() {
	if g.acts.Add(-1) == 0 {
		select {
		case g.idle <- struct{}{}:
		default:
		}
	}
}

// Wait blocks until the door is open, and returns the token it opened with, which may
// be acted on for as long as one of [Gate.Require]. It returns the cause of ctx if that
// ends first.
func (g *Gate) Wait(ctx context.Context, d Door) (Token, error) {
	for {
		moved := *g.moved.Load()
		t := g.tenure.Load()
		var opens <-chan time.Time
		if t != nil {
			now := g.now()
			_, why := t.check(d, now, 0)
			if why == nil {
				if token, err := g.Require(d); err == nil {
					return token, nil
				} // or it was shut meanwhile, or is open for too short a time: until it moves
			}
			if errors.Is(why, ErrHolding) {
				timer := time.NewTimer(t.actFrom.Sub(now))
				defer timer.Stop()
				opens = timer.C
			}
		}
		select {
		case <-ctx.Done():
			return Token{}, context.Cause(ctx)
		case <-moved:
		case <-opens:
		}
	}
}
