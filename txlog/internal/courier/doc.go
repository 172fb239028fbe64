// Package courier brings the goals that users of one node ask for to the leader of a log, and their
// answers back. A [Machine] is pure: inputs go in, actions come out.
//
//	Carry ───▶ sent to the leader ──────────▶ answered: committed, or refused
//	               │        ▲                     ▲
//	               │        │ another leads (B12), this node itself too (B11); not reached; nobody leads
//	               │        │                     │ the own copy has taken it over
//	               │        └── sent again, with the same id, after a growing pause
//	               ├── no answer for 15 s: neighbours are asked for news, and it is sent again (B8, B9)
//	               └── a minute: nobody can say what became of it
//
// # Rules
//
//   - never-skip: no timeout advances an index or ends a goal (B8, B9). What nobody can say is txlog.ErrUnknown and never a
//     failure: the same id may be asked for again, and the goal is executed once.
//   - A member is believed to lead by its term. Another leader begins the timeout anew, and the log of the node says so (B10, B12);
//     leaders that come and go keep nobody waiting for longer than a minute.
//   - A user is answered once, by what a member says that was asked for this very goal, or by the node's own copy (V6).
//   - An answer that comes when nobody waits any more is kept for those that ask again (V2).
//   - txlog.ErrTooMany is passed on if it came for the only try: then nobody has taken the goal. After a second try nobody knows.
//   - txlog.ErrBarred ends a goal whichever try it answers: a leader that says so is heard before members that say nothing.
//   - What waits is bounded, and so is what is remembered.
//
// # Duties of the caller
//
//   - One goroutine feeds a machine, with a clock that never goes back, and a Tick about ten times a second.
//   - Sent goals reach a member's Execute with their id, body and since, also those to this node itself. LeaderSaid and Failed have
//     the number of the try, and the name that the transport has proven.
//   - Ask has three neighbours asked for heads and for what follows the own copy: package follower does it.
//   - A since that the user has not said is the index of the node's own copy. A user who asks again without it may be executed a
//     second time once the result is no longer kept.
//
// Sources: document 003; requirements B8 to B12, V2, V6.
package courier
