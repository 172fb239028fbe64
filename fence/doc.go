// Package fence answers, at the instant of acting, whether this process may act
// as the leader, and names the leadership to resources that can refuse a stale one.
//
// A leader is one of several copies of a service of which exactly one may act. A [Token]
// proves that a mint made this copy the leader; a [Gate] answers whether it still is:
//
//	err := gate.Do(ctx, fence.Act, 200*time.Millisecond, func(ctx context.Context, t fence.Token) error {
//		return mailer.Send(ctx, mail)
//	})
//
// # One gate, two doors
//
// The [Fenced] door opens the moment a token is minted. It is for effects that the
// resource refuses by itself when the token is stale: SQL under conch.fence(), an account
// nonce, a log entry with its ballot. It needs no clock to be safe.
//
// The [Act] door is for effects that nothing else can refuse: a file, an
// e-mail, a call to an API. It opens only once every predecessor's gate is known
// to be shut, and the clock shuts it.
//
// # Why a deadline and not a flag
//
// Code must be running to clear a flag. A process that was stopped, swapped out
// or starved resumes with the flag still set. A gate holds a deadline instead and
// compares it with the clock at each use, so time itself shuts it. The clock
// also counts while the machine is suspended ([Boottime]). The deadline counts
// from the sending of the last successful heartbeat, never from its reply, since
// the lease in the mint began somewhere between the two.
//
// # An answer is an act
//
// A caller outside the role, such as a client of an HTTP API, is told that it may act
// and acts a little later; the gate cannot see when. Such callers use [Gate.Outside]:
// its answers expire after a promised time, and a leadership is not handed over before
// they have expired. Inside a role there is no promise, since the handover waits for
// the role's function to return.
//
// # What a gate cannot do
//
// A process frozen between its check and its write still writes when it resumes.
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
//   - Give [Gate.Do] an honest maximum: the act must be over by then.
//   - Honour the context that Do passes to the act: it ends when the door shuts.
//
// Sources: requirements S11, S14, S15, S17; Gray and Cheriton, "Leases" (1989);
// Burrows, "The Chubby lock service" (2006), which calls tokens sequencers.
package fence
