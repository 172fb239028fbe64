package fence

import (
	"context"
	"math"
	"sync/atomic"
	"time"
)

// Door says what stands behind a gate: see the package comment. The zero value
// is the stricter one.
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

// Gate says at the moment of acting whether this process may. All methods are
// safe for concurrent use; a check reads one clock, takes no lock and allocates
// nothing while the door is open.
//
// A Gate can only be asked. Opening and shutting it is the business of the
// [Latch] that [New] returns with it, which the elector keeps to itself.
//
// There are two views of one gate. What [New] returns is for the code of a role:
// its answers end when the role's function returns, and a handover waits for that.
// [Gate.Outside] is for everybody else.
type Gate struct {
	*state
	outside bool // an answer of the act door is an act
}

// state is what the views of a gate, and its latch, share.
type state struct {
	scope    string
	now      Clock
	tenure   atomic.Pointer[tenure] // nil: shut
	why      atomic.Pointer[error]  // what shut it last
	holder   atomic.Pointer[string] // who leads as last heard, for messages only
	acts     atomic.Int64           // acts under way
	promised atomic.Int64           // the latest instant at which an answer given outside may still be acted on
	idle     chan struct{}          // a hint that acts may have reached zero
	moved    atomic.Pointer[chan struct{}]
}

type tenure struct {
	token    Token
	actFrom  Instant
	deadline atomic.Int64
	ctx      context.Context
	end      context.CancelCauseFunc
}

// New returns a shut gate for the scope and the latch that moves it. A nil
// clock means [Boottime].
func New(scope string, clock Clock) (*Gate, *Latch) {
	if clock == nil {
		clock = Boottime
	}
	s := &state{scope: scope, now: clock, idle: make(chan struct{}, 1)}
	ch := make(chan struct{})
	s.moved.Store(&ch)
	return &Gate{state: s}, &Latch{state: s}
}

// Standalone returns a gate that is always open, for a deployment of exactly one
// copy that says so by name (requirement S18). Its token has epoch 0, which
// every fence refuses.
func Standalone(scope, holder string) *Gate {
	g, latch := New(scope, func() Instant { return 0 })
	latch.Open(Token{Scope: scope, Holder: holder}, 0, math.MaxInt64)
	return g
}

// Scope names what this gate is for.
func (g *Gate) Scope() string { return g.scope }

// IsOpen reports whether the door is open now. It is for people and routers: it
// promises nothing, and no handover waits for what is done on it.
func (g *Gate) IsOpen(d Door) bool {
	t := g.tenure.Load()
	if t == nil {
		return false
	}
	_, why := t.check(d, g.now(), 0)
	return why == nil
}

// Left is how long the door stays open if no further heartbeat succeeds and nobody
// gives the leadership up; 0 when it is shut. Like [Gate.IsOpen] it promises nothing.
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

// Deadline is the instant at which the door shuts if no further heartbeat
// succeeds; false when it is shut. It is for a role that has to tell somebody
// beforehand, such as another process that has to be over by then. Like [Gate.IsOpen]
// it promises nothing: to act, ask [Gate.Do].
func (g *Gate) Deadline(d Door) (Instant, bool) {
	t := g.tenure.Load()
	if t == nil {
		return 0, false
	}
	deadline, why := t.check(d, g.now(), 0)
	return deadline, why == nil
}

// Moved returns a channel that is closed when the gate is moved next: opened,
// extended, suspended or shut. Take it before looking, or a move in between is
// missed. The clock alone moves nothing.
func (g *Gate) Moved() <-chan struct{} { return *g.moved.Load() }

// Require returns the token if the door is open now and a *[ShutError]
// otherwise (requirement S14). Inside a role the token may be acted on until the
// role's function returns. Of an outside view the act door's may be acted on for
// [AnswerLife]; with less than that left it is refused ([ErrTooLong]), so with leases of
// less than a second ask [Gate.Answer]. See [Gate.Outside].
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

// EnsureEpoch is the last look before a transmission: nil only if the door is
// open now and the epoch is still the one under which the work was prepared
// (requirement S15). The error is [ErrStale] when another epoch leads here. How
// long the answer may be acted on is as for [Gate.Require].
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

// check says why the door is not open at now for an act of length most, nil if it
// is, and the deadline that it compared with: read once, since it may move.
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
