package fence

import (
	"context"
	"math"
	"sync/atomic"
	"time"
)

// Door is one of the two doors of a gate: see the package comment. The zero value
// is the stricter door.
type Door uint8

const (
	// Act is for effects that nothing but the clock can refuse.
	Act Door = iota
	// Fenced is for effects that the resource refuses when the token is stale.
	Fenced
)

func (d Door) String() string {
	if d == Fenced {
		return "fenced"
	}
	return "act"
}

// Gate answers, at the moment of acting, whether this process may act. All methods
// are safe for concurrent use; a check reads the clock once, takes no lock and
// allocates nothing while the door is open.
//
// A Gate only answers. The [Latch] that [New] returns with it opens and shuts it;
// the elector keeps the latch to itself.
//
// A gate has two views. [New] returns the view for the code of a role: its answers
// are valid until the role's function returns, and a handover waits for that.
// [Gate.Outside] returns the view for all other callers.
type Gate struct {
	*state
	outside bool // promise each answer of the act door
}

// state is shared by the views of a gate and its latch.
type state struct {
	scope    string
	now      Clock
	tenure   atomic.Pointer[tenure]        // nil: shut
	why      atomic.Pointer[error]         // cause of the last Shut
	holder   atomic.Pointer[string]        // last known holder, for messages only
	acts     atomic.Int64                  // acts under way
	promised atomic.Int64                  // the promise: the latest instant until which an answer is valid
	idle     chan struct{}                 // a hint that acts may have reached zero
	moved    atomic.Pointer[chan struct{}] // closed and replaced at each move
}

// tenure is a term as this process sees it.
type tenure struct {
	token    Token
	actFrom  Instant
	deadline atomic.Int64
	ctx      context.Context
	end      context.CancelCauseFunc
}

// New returns a shut gate for the scope, and its latch. A nil clock means [Boottime].
func New(scope string, clock Clock) (*Gate, *Latch) {
	if clock == nil {
		clock = Boottime
	}
	s := &state{scope: scope, now: clock, idle: make(chan struct{}, 1)}
	ch := make(chan struct{})
	s.moved.Store(&ch)
	return &Gate{state: s}, &Latch{state: s}
}

// Standalone returns a gate that is always open, for a deployment of exactly one copy
// (requirement S18). Its token has epoch 0, which every fence refuses.
func Standalone(scope, holder string) *Gate {
	g, latch := New(scope, func() Instant { return 0 })
	latch.Open(Token{Scope: scope, Holder: holder}, 0, math.MaxInt64)
	return g
}

// Scope returns the scope of the gate.
func (g *Gate) Scope() string { return g.scope }

// IsOpen reports whether the door is open now. It is for displays and health
// checks: it makes no promise, and no handover waits for its caller.
func (g *Gate) IsOpen(d Door) bool {
	t := g.tenure.Load()
	if t == nil {
		return false
	}
	_, why := t.check(d, g.now(), 0)
	return why == nil
}

// Left returns how long the door stays open if no further heartbeat succeeds and the
// leadership is not given up; 0 when it is shut. Like [Gate.IsOpen] it makes no promise.
func (g *Gate) Left(d Door) time.Duration {
	t := g.tenure.Load()
	if t == nil {
		return 0
	}
	now := g.now()
	deadline, why := t.check(d, now, 0)
	if why != nil {
		return 0
	}
	return deadline.Sub(now)
}

// Deadline returns the instant at which the door shuts if no further heartbeat succeeds;
// false when it is shut. A role passes it on, for example to a child process that must
// have ended by then. Like [Gate.IsOpen] it makes no promise: to act, use [Gate.Do].
func (g *Gate) Deadline(d Door) (Instant, bool) {
	t := g.tenure.Load()
	if t == nil {
		return 0, false
	}
	deadline, why := t.check(d, g.now(), 0)
	return deadline, why == nil
}

// Moved returns a channel that is closed when the latch next opens, extends,
// suspends or shuts the gate. Call it before you look at the gate, or you miss a
// move in between. A deadline that passes does not close the channel.
func (g *Gate) Moved() <-chan struct{} { return *g.moved.Load() }

// Require returns the token if the door is open now, and a *[ShutError] otherwise
// (requirement S14). Inside a role the token is valid until the role's function
// returns. From an outside view the token of the act door is valid for [AnswerLife];
// Require refuses with [ErrTooLong] if the door stays open for less than that, so use
// [Gate.Answer] with leases shorter than a second.
func (g *Gate) Require(d Door) (Token, error) {
	if g.outside && d == Act {
		t, life, err := g.Answer(d, AnswerLife)
		if err == nil && life < AnswerLife {
			return Token{}, g.refusal(d, ErrTooLong)
		}
		return t, err
	}
	t := g.tenure.Load()
	if t == nil {
		return Token{}, g.refusal(d, nil)
	}
	if _, why := t.check(d, g.now(), 0); why != nil {
		return Token{}, g.refusal(d, why)
	}
	return t.token, nil
}

// EnsureEpoch is the last check before a transmission. It returns nil if the door is
// open now and epoch, under which the work was prepared, is still the current one;
// [ErrStale] if this process leads in another epoch; a *[ShutError] if the door is
// shut (requirement S15). The answer is valid for as long as that of [Gate.Require].
func (g *Gate) EnsureEpoch(d Door, epoch int64) error {
	t, err := g.Require(d)
	if err != nil {
		return err
	}
	if t.Epoch != epoch {
		return ErrStale
	}
	return nil
}

// check returns why the door is not open at now for an act of length most, nil if it
// is, and the deadline it used: callers must not read it again, since it may move.
func (t *tenure) check(d Door, now Instant, most time.Duration) (deadline Instant, why error) {
	deadline = Instant(t.deadline.Load())
	switch {
	case now >= deadline:
		why = ErrLate
	case d == Act && now < t.actFrom:
		why = ErrHolding
	case most > 0 && deadline.Sub(now) <= most:
		why = ErrTooLong
	}
	return deadline, why
}

func (g *state) refusal(d Door, why error) error {
	e := &ShutError{Scope: g.scope, Door: d, Why: why}
	if h := g.holder.Load(); h != nil {
		e.Holder = *h
	}
	if w := g.why.Load(); e.Why == nil && w != nil {
		e.Why = *w
	}
	return e
}
