// Package fence is the doorway through which every act of a leader goes.
//
// A leader is one of several copies of a service of which exactly one may act.
// Holding a [Token] is the proof that a mint made this copy the leader; a
// [Gate] answers, at the instant of acting, whether it still is:
//
//	err := gate.Do(ctx, fence.Act, 200*time.Millisecond, func(ctx context.Context, t fence.Token) error {
//		return mailer.Send(ctx, mail)
//	})
//
// # One gate, two doors
//
// The [Fenced] door opens the moment a token is minted. What passes it must be
// refused by the resource itself if the token is stale: SQL under
// conch.fence(), an account nonce, a log entry with its ballot. It needs no
// clock to be safe.
//
// The [Act] door is for effects that nothing else can refuse: a file, an
// e-mail, a foreign API. It opens only once every predecessor's gate is known
// to be shut, and shuts by the clock.
//
// # Why a deadline and not a flag
//
// A flag is cleared by somebody who must be running to clear it. A process that
// was stopped, swapped out or starved wakes up with the flag still set. A gate
// holds a deadline instead and compares it with the clock at each use, so the
// passage of time itself shuts it. The clock is one that also counts while the
// machine is suspended ([Boottime]). The deadline is anchored on the time at
// which the last successful heartbeat was sent, never on its reply, since the
// lease on the other side began somewhere between the two.
//
// # An answer is an act
//
// A caller outside of the role, which is told that it may act, acts a little later, and
// nobody sees when. So what is asked over HTTP, or by another part of the program, goes
// through [Gate.Outside]: its answers live for a promised time, and a leadership is not
// handed over before they have ended. Inside a role nothing is promised, since the
// handover waits for the role's function to return.
//
// # What a gate cannot do
//
// A process frozen between its check and its write still writes when it wakes.
// Only the resource can refuse that write; hence the fenced door. Nothing in a
// process notices a virtual machine that is paused together with its clocks.
//
// # State
//
//	shut --Open(token, actFrom, deadline)--> open
//	open --Extend(deadline)--> open
//	open --the clock passes deadline--> late (refuses; Extend reopens it, same term)
//	any  --Shut(cause)--> shut (this term never opens again)
//	shut --acts and answers have ended--> the leadership may be handed over
//
// # Duties of the caller
//
//   - Ask the gate right before each effect, not once per loop.
//   - Name an honest maximum for [Gate.Do]: the act must be over by then.
//   - Honour the context that Do hands in: it ends with the door.
//
// Sources: requirements S11, S14, S15, S17; Gray and Cheriton, "Leases" (1989);
// Burrows, "The Chubby lock service" (2006) for sequencers, here called tokens.
package fence
