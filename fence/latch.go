package fence

import (
	"context"
	"math"
	"time"
)

// Latch moves a gate. It belongs to whoever minted the leadership; one
// goroutine uses it at a time.
type Latch struct{ *state }

// passed is a deadline before every instant, and far enough from the end of the
// range that a difference to it does not overflow.
const passed = Instant(math.MinInt64 / 2)

// Open opens the gate under a freshly minted token: the fenced door now, the
// act door from actFrom on, both until the deadline.
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

// Extend moves the deadline after a heartbeat that succeeded; it never moves it
// back. A gate that had become late opens again, in the same term (S11). On a
// shut gate it does nothing.
func (l *Latch) Extend(deadline Instant) {
	t := l.tenure.Load()
	if t == nil || int64(deadline) <= t.deadline.Load() {
		return
	}
	t.deadline.Store(int64(deadline))
	l.move()
}

// Suspend shuts the gate at once because a heartbeat failed, and leaves the term
// as it is: the next Extend opens it again (S11).
func (l *Latch) Suspend() {
	if t := l.tenure.Load(); t != nil {
		t.deadline.Store(int64(passed))
		l.move()
	}
}

// Shut closes the gate for good as far as this term goes, at once, and cancels
// every act's context with the cause.
func (l *Latch) Shut(cause error) {
	l.why.Store(&cause)
	if t := l.tenure.Swap(nil); t != nil {
		// A caller that loaded the tenure an instant ago must find it over as well.
		t.deadline.Store(int64(passed))
		t.end(cause)
	}
	l.move()
}

// Acts is the number of acts under way.
func (l *Latch) Acts() int64 { return l.acts.Load() }

// Answers is the instant from which no answer that was given outside is acted on any
// more: see [Gate.Outside]. Read it after Shut, or one more may be given.
func (l *Latch) Answers() Instant { return Instant(l.promised.Load()) }

// Drain waits until no act is under way and every answer that was given outside has
// ended, or returns the cause of ctx. Call it after Shut: only then does none begin.
func (l *Latch) Drain(ctx context.Context) error {
	for l.acts.Load() != 0 {
		select {
		case <-l.idle:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	// The timer may run on another clock than the gate, hence the second look.
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

// Heard records who leads as far as this process knows. It is for messages and
// never opens or shuts anything (S12).
func (l *Latch) Heard(holder string) { l.holder.Store(&holder) }

func (l *Latch) move() {
	next := make(chan struct{})
	close(*l.moved.Swap(&next))
}
