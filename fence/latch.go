package fence

import (
	"context"
	"math"
)

// Latch moves a gate. It belongs to whoever minted the leadership; one
// goroutine uses it at a time.
type Latch struct{ gate *Gate }

// passed is a deadline before every instant, and far enough from the end of the
// range that a difference to it does not overflow.
const passed = Instant(math.MinInt64 / 2)

// Open opens the gate under a freshly minted token: the fenced door now, the
// act door from actFrom on, both until the deadline.
func (l *Latch) Open(t Token, actFrom, deadline Instant) {
	tn := &tenure{token: t, actFrom: actFrom}
	tn.deadline.Store(int64(deadline))
	tn.ctx, tn.end = context.WithCancelCause(context.Background())
	if old := l.gate.tenure.Swap(tn); old != nil {
		old.deadline.Store(int64(passed))
		old.end(ErrStale)
	}
	l.moved()
}

// Extend moves the deadline after a heartbeat that succeeded; it never moves it
// back. A gate that had become late opens again, in the same term (S11). On a
// shut gate it does nothing.
func (l *Latch) Extend(deadline Instant) {
	t := l.gate.tenure.Load()
	if t == nil || int64(deadline) <= t.deadline.Load() {
		return
	}
	t.deadline.Store(int64(deadline))
	l.moved()
}

// Suspend shuts the gate at once because a heartbeat failed, and leaves the term
// as it is: the next Extend opens it again (S11).
func (l *Latch) Suspend() {
	if t := l.gate.tenure.Load(); t != nil {
		t.deadline.Store(int64(passed))
		l.moved()
	}
}

// Shut closes the gate for good as far as this term goes, at once, and cancels
// every act's context with the cause.
func (l *Latch) Shut(cause error) {
	l.gate.why.Store(&cause)
	if t := l.gate.tenure.Swap(nil); t != nil {
		// Whoever loaded the tenure an instant ago must find it over as well.
		t.deadline.Store(int64(passed))
		t.end(cause)
	}
	l.moved()
}

// Acts is the number of acts under way.
func (l *Latch) Acts() int64 { return l.gate.acts.Load() }

// Drain waits until no act is under way, or returns the cause of ctx. Call it
// after Shut: only then does none begin.
func (l *Latch) Drain(ctx context.Context) error {
	for l.gate.acts.Load() != 0 {
		select {
		case <-l.gate.idle:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Heard records who leads as far as this process knows. It is for messages and
// never opens or shuts anything (S12).
func (l *Latch) Heard(holder string) { l.gate.holder.Store(&holder) }

func (l *Latch) moved() {
	next := make(chan struct{})
	close(*l.gate.moved.Swap(&next))
}
