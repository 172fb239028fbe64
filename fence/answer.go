package fence

import "time"

// AnswerLife is how long an answer of an outside view is valid. It delays a handover
// by at most this time plus a tenth.
const AnswerLife = 500 * time.Millisecond

// Outside returns the view of the gate for callers outside its role, such as an HTTP
// handler or another goroutine of the service. A role's function shows by its return
// that its acts are over; other callers give no such sign. So each answer of the act
// door expires after a time that is promised beforehand, and a leadership is not handed
// over before the last answer has expired:
//
//   - Require, EnsureEpoch and Wait allow one act that begins now and ends within
//     [AnswerLife]; they refuse if the door stays open for less than that;
//   - Answer returns for how long its answer is valid;
//   - Do counts its act, as it does inside the role;
//   - IsOpen, Left, Deadline and Moved make no promise.
//
// Answers of the fenced door make no promise either: the resource refuses a late act.
func (g *Gate) Outside() *Gate { return &Gate{state: g.state, outside: true} }

// Answer returns the token if the door is open now, and for how long the answer is
// valid, from the moment of the call: for life, or until the gate's deadline if that
// comes first. A clean handover waits until the answer has expired; after a crash the
// deadline covers it. The error is a *[ShutError].
//
// Answer is for callers that act elsewhere and cannot be called back, such as another
// process. To act in this process use [Gate.Do], which delays a handover only for as
// long as the act runs.
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
	// Promise before the last check, as Do counts before it: the latch shuts the gate
	// and then reads the promise, so one of the two sees the other. The tenth allows for
	// the drift of the caller's and the successor's clocks against this one; the deadline
	// has its margin for that.
	g.promise(now.Add(life + life/10))
	if g.tenure.Load() != t {
		return Token{}, 0, g.refusal(d, nil)
	}
	if _, why := t.check(d, g.now(), 0); why != nil {
		return Token{}, 0, g.refusal(d, why)
	}
	return t.token, life, nil
}

// promiseStep is the unit to which a promise is rounded up, so that constant callers
// write it 20 times a second and not at each call.
const promiseStep = Instant(50 * time.Millisecond)

// promise raises the promise; it never lowers it. The promise belongs to the gate, not
// to a term: every handover waits for it.
func (g *state) promise(until Instant) {
	until = (until/promiseStep + 1) * promiseStep
	for {
		is := g.promised.Load()
		if is >= int64(until) || g.promised.CompareAndSwap(is, int64(until)) {
			return
		}
	}
}
