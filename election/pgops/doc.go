// Package pgops is the operators' side of an election over Postgres. It shows who leads and
// what happened, asks leaders to hand their scopes over, and raises epochs after a restore.
// The commands, the HTTP API and the doctor of conch use it. A process that campaigns
// needs package pgmint, and of this package only [Obey].
//
// # What is where
//
//	Observe, Observer   the state of scopes, their history, and new events as they happen
//	Ask, Request        ask the leader of a scope to drain or to transfer it
//	Obey, Leader        carry such requests out, in the process that leads
//	Advance, Below      raise epochs after a restore from a backup
//	Forget              hide a scope that is no longer used
//	Trimmer             delete old rows of the history
//
// # A request
//
// A request is a row of conch.command. Ask and the leader need no connection but that to the
// database. A notification wakes them, and both also poll, since a notification may be lost.
//
//	asked ──the successor of a transfer is ready──▶ warm ──┐
//	  ├────────────────────────────────────────────────────┴──the leader takes it──▶ taken ──▶ done, failed
//	  └──nobody takes it in time──▶ expired
//
// In a transfer the successor first runs the Warm of its role, and after two seconds the leader no
// longer waits for it. A request names the epoch that it is for, so it never ends a later term.
//
// # Duties of the caller
//
// Base no decision on an [Observer], since it shows the past. Use it from one goroutine at a time,
// and close it. Run [Obey] beside each elector, or requests for its scopes are not taken. Only the
// owner of the schema may call [Advance] and [Forget].
//
// # What can fail, and what happens
//
//   - The leader does not take the request, because it is stopped, is cut off from the database or
//     does not run Obey: after six seconds Ask withdraws it and returns an *[UnansweredError].
//   - The process that asks is killed: its request is not carried out once it is six seconds
//     old, and is closed as expired after twelve.
//   - The leader dies after it took the request: Ask returns an *[UnansweredError] with Taken
//     set some four seconds later. The scope has a new leader as after any crash.
//   - The database does not answer when the leader takes the request: the leader cannot know
//     whether it did, so it does not carry the request out, and closes it as failed.
//   - Acts do not end in time: the scope is given up and not released, its successor waits as
//     after a crash, and the *[FailedError] wraps election.ErrDrainTimeout.
//   - A fenced transaction does not end: Advance gives up after five seconds and names it in a
//     *[pgmint.BlockedError]. Nothing has changed.
//   - No standby confirms the commit of an Advance: it returns an error, and a failover may
//     forget the epoch. Advance again, to a higher one.
//   - An observer loses its connection: Watch connects again and skips no event; any other
//     method returns the error, and the observer has to be replaced.
//
// Requirements F6, S12, S13, S25, S33.
package pgops
