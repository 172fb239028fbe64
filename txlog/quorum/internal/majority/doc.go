// Package majority is the authority of a log whose entries a majority of named members decides on. The decision itself is that
// of a library, etcd's raft core; what this package has is all around it that a log needs.
//
// A [Machine] is one member. It is pure: inputs go in, and one [Output] comes out of each step, whose order is binding.
//
//	what is to be kept  ──▶  synced  ──▶  messages are sent, facts are told, the door is moved
//
// What may be lost without taking back a promise waits in the process's memory for the next sync (Persist.Sync says which). A power cut loses
// it, and so does a process that is killed.
//
// So nothing is acknowledged before it is synced (sync-first): inside of a step the library counts on what is only asked to be
// kept, and nothing of it leaves the machine before it is. [Promises] keep it in a store. They are read once, before a machine is made
// of them (Config.Stored): it has the library's log in memory.
//
// # Who leads
//
// A member that has not heard the leader for three rounds forgets it. The one that gossip suggests then campaigns at once,
// the others in the order of their names, two rounds apart, again after growing pauses. A vote before the vote finds out
// whether a majority has lost the leader too: if not, nothing happens and the term does not grow. So a suggestion deposes
// nobody, and a member that was cut off disturbs nobody when it comes back. A leader that no majority answers for ten rounds steps
// down. Where a leader was lost and goes on in its term, it was slow, as on a machine that has too much to do: then its
// members wait for twice that silence, eight rounds at most, for a minute. The library's timer, which is random, is never used: a run follows from its inputs and seeds.
//
// # The library's switches
//
// Some are set otherwise than by default, and tests show what each is for: a vote before the vote, the check of a leader's
// majority, no forwarding of proposals (no-forward), and that a leader which is removed steps down. A member's id at the
// library is that of its store: a node with another disk is another member, until an entry says so (new-disk-new-member).
//
// # Records and entries
//
// A record is one of the log of package txlog; its indices have no gaps. An entry is one of the library's log: some have no
// record. A member looks at what the leader sends before it stores it: the entries follow each other, a record is of its
// entry's term and follows the record before by index and hash, a change of members is the one that its record says, and
// Config.Look agrees (look-before-storing, a rule of package member). What it refuses is for the library a message that was lost;
// the leader is told.
//
// A change of members is joint: majorities of the old and of the new set decide until it has ended, which it does by itself. A
// second one waits for that, and what was executed after it waits behind it.
// Nobody writes first to a store that has left. If it asks for votes, since it has missed that end, the leader answers with what it lacks.
//
// # A leader whose memory is wrong
//
// What it proposes it has stored itself when the others refuse it. It gives its term up ([GiveUp]) and drops what nobody can
// count on: else it would win each election in which its disk is needed, with entries that nobody takes.
//
// # A member that is behind
//
// A leader keeps some thousand entries. A member that lacks older ones is told a place to go on from (Output.Behind), fetches the
// records up to there as a follower does, which verifies them, and steps [Reached].
//
// # The act door
//
// A leader asks its majority each round. Of the questions that a majority has answered, the last one counts: the door closes at the time at
// which it was sent, plus the lease, less a margin for clocks that do not run alike. That of a new leader opens a lease after its term has
// begun (hold): one of its voters had answered the last question of the leader before it, so that one's door is shut by then. The machine
// says from when until when; the loop moves a latch of package fence.
//
// # Duties of the caller
//
//   - One goroutine steps a machine, with a clock that never goes back and counts suspended time, read after the input was
//     received. Tick comes each round of 100 ms, after the messages that wait to be read.
//   - What came together goes in as one [Batch], so that it is synced at once.
//   - Received.From is the node that the transport says it is.
//   - The id of a store is drawn at random when the store is made, below 2^63, and never again.
//   - When Persist.Reset is there, the copy of the log is the one that Reached has spoken of, and nothing comes after it.
//   - Before Reached, all records up to the place are stored, each verified by a head.
//   - If a message of a stranger is refused, it may be of a member that an entry not yet here has admitted: a node that has that
//     entry from elsewhere, verified, steps [Known].
//
// # What can fail
//
//   - A majority of the stores is gone: nothing is decided any more. The status says how many answer and what a person can do.
//   - A store is put back to an older state: it breaks its promises. If the leader counts on entries that it had, it is refused with ErrLost.
//     If it leads, or has elected one that does, without what is committed at another member, both are told (ErrForked, Status.Fork): the
//     entries are refused, and nobody counts that member. Which of the two is right, or lies, a person has to find out.
//   - Something cannot be kept: nothing of the step is said, and the store is not used any more.
//   - A message is malformed, of another log, for another store, of nobody, or contradicts what is here: it is refused, and
//     its sender named (Output.Refused). The library would panic at some of them. Before a message is decoded it is known to be from a
//     member's store to this one, and its parts are counted: it costs about twice the memory of the largest message at most.
//   - The library meets what it takes for impossible: Output.Failed, and the machine does nothing any more.
//   - A member lies: members are trusted not to, as in every log of this kind. Its records are still looked at.
//
// Sources: document 003; requirements B11, B15, V6, V7.
package majority
