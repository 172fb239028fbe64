package fence

import (
	"context"
	"errors"
	"time"
)

// Do calls act, which takes at most the given time, if the door stays open for all
// of it: iff now + most < deadline. Otherwise it returns a *[ShutError] and does not
// call act. The context that act receives ends when the door's present deadline
// passes or the gate is shut; its cause says which. Do returns the error of act.
//
// Acts are counted: a leader that gives its leadership up waits for the acts that
// are under way.
func (g *Gate) Do(ctx context.Context, d Door, most time.Duration, act func(context.Context, Token) error) error {
	if g.tenure.Load() == nil {
		return g.refusal(d, nil) // not counted, so that calls at a shut gate do not delay a drain
	}
	// Count before the check: a latch that shuts the gate and then counts no act
	// knows that none can begin.
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

// Wait blocks until the door is open and returns its token, which is valid for as long
// as that of [Gate.Require]. If ctx ends first, it returns the cause of ctx.
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
				} // the gate was shut meanwhile, or is open for too short a time: wait for a move
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
