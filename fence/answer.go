package fence

import "time"

// AnswerLife is how long an answer of an outside view lives, and so the longest that
// such an answer can delay a handover, but for a tenth.
const AnswerLife = 500 * time.Millisecond

// Outside returns the view of the gate for callers outside of its role, such as an
// HTTP handler or another goroutine of the service. The role's function says by
// returning that all is over; of others nobody knows when they act on what they were
// told. So each answer of the act door ends after a time that is promised beforehand,
// and a leadership is not handed over before the last of them has ended:
//
//   - Require, EnsureEpoch and Wait allow one act that begins now and is over within
//     [AnswerLife], and refuse with less than that left; Answer says how long;
//   - Do counts its act, as it does inside;
//   - IsOpen, Left, Deadline and Moved promise nothing.
//
// Answers of the fenced door promise nothing either: the resource refuses what is late.
func (g *Gate) Outside() *Gate { return &Gate{state: g.state, outside: true} }

// Answer returns the token if the door is open now, and for how long the caller may
// act on it from the moment it asked: the life it asks for, or what is left of the
// gate's deadline if that is less. A clean handover waits for the answer to end, and a
// crash is covered by the deadline. The error is a *[ShutError].
//
// It is for callers that act elsewhere and cannot be called back, such as another
// process; to act here, use [Gate.Do], which costs a handover no more than the act.
func (g *Gate) Answer(d Door, life time.Duration) (Token, time.Duration, error) {
	t := g.tenure.Load()
	if t == nil {
		return Token{}, 0, g.refusal(d, nil)
	}
	now := g.now()
	deadline, why := t.check(d, now, 0)
	if why != nil {
		return Token{}, 0, g.refusal(d, why)
	}
	life = min(life, deadline.Sub(now))
	if d != Act {
		return t.token, life, nil
	}
	// Promised before the last look, as Do counts before it: the latch shuts and then
	// reads the promise, so one of the two sees the other. The tenth is for clocks that run
	// at unequal speed, the caller's and the successor's together against this one; the
	// deadline has its margin for that.
	g.promise(now.Add(life + life/10))
	if g.tenure.Load() != t {
		return Token{}, 0, g.refusal(d, nil)
	}
	if _, why := t.check(d, g.now(), 0); why != nil {
		return Token{}, 0, g.refusal(d, why)
	}
	return t.token, life, nil
}

// promiseStep is what a promise is rounded up to, so that callers who ask all day long
// write it 20 times a second and not each time.
const promiseStep = Instant(50 * time.Millisecond)

// promise raises the promise; it never lowers it. It belongs to the gate and outlives
// terms: each of them waits for it before the next can begin here.
func (g *state) promise(until Instant) {
	until = (until/promiseStep + 1) * promiseStep
	for {
		is := g.promised.Load()
		if is >= int64(until) || g.promised.CompareAndSwap(is, int64(until)) {
			return
		}
	}
}
