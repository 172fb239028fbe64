package fence

import (
	"context"
	"math"
	"time"
)

// Latch opens and shuts a gate. It belongs to the elector that obtained the
// leadership; one goroutine uses it at a time.
type Latch struct{ *state }

// passed is a deadline before every instant. It is far enough from the end of the
// range that a difference to it does not overflow.
const passed = Instant(math.MinInt64 / 2)

// Open opens the gate for a new term: the fenced door now, the act door from
// actFrom on, both until the deadline.
func (l *Latch) Open(t Token, actFrom, deadline Instant) {
	tn := &tenure{token: t, actFrom: actFrom}
	tn.deadline.Store(int64(deadline))
	tn.ctx, tn.end = context.WithCancelCause(context.Background())
	if old := l.tenure.Swap(tn); old != nil {
		old.deadline.Store(int64(passed))
		old.end(ErrStale)
	}
	l.move()
}

// Extend moves the deadline after a successful heartbeat; it never moves it back. A gate
// that is late opens again, in the same term (S11). On a shut gate Extend does nothing.
func (l *Latch) Extend(deadline Instant) {
	t := l.tenure.Load()
	if t == nil || int64(deadline) <= t.deadline.Load() {
		return
	}
	t.deadline.Store(int64(deadline))
	l.move()
}

// Suspend shuts the gate at once because a heartbeat failed, but does not end the
// term: the next Extend opens the gate again (S11).
func (l *Latch) Suspend() {
	if t := l.tenure.Load(); t != nil {
		t.deadline.Store(int64(passed))
		l.move()
	}
}

// Shut shuts the gate at once and for the rest of the term, and cancels the context
// of every act with the cause.
func (l *Latch) Shut(cause error) {
	l.why.Store(&cause)
	if t := l.tenure.Swap(nil); t != nil {
		// A caller that has just loaded the tenure must find it over as well.
		t.deadline.Store(int64(passed))
		t.end(cause)
	}
	l.move()
}

// Acts returns the number of acts under way.
func (l *Latch) Acts() int64 { return l.acts.Load() }

// Answers returns the instant at which the last answer to an outside caller expires:
// see [Gate.Outside]. Call it after Shut, or the gate may still give another answer.
func (l *Latch) Answers() Instant { return Instant(l.promised.Load()) }

// Drain waits until no act is under way and every answer to an outside caller has
// expired, or returns the cause of ctx. Call it after Shut: only then no act begins.
func (l *Latch) Drain(ctx context.Context) error {
	for l.acts.Load() != 0 {
		select {
		case <-l.idle:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	// The timer may run on another clock than the gate, so check again after it.
	for left := l.Answers().Sub(l.now()); left > 0; left = l.Answers().Sub(l.now()) {
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
	return nil
}

// Heard records the holder that this process last heard of. It is for messages
// only and never opens or shuts anything (S12).
func (l *Latch) Heard(holder string) { l.holder.Store(&holder) }

func (l *Latch) move() {
	next := make(chan struct{})
	close(*l.moved.Swap(&next))
}
