// Package member is one member of a log: the part of it that stands on the authority. A [Machine] executes goals while it
// leads, looks at what another leader sends before it is stored, applies what is committed, and answers. It is pure:
// inputs go in, actions come out.
//
//	             Leads                    its Opening is committed and applied
//	following ──────────▶ leading ──────────────────────────────────────────────▶ opened: it executes
//	    ▲                    │                                                        │
//	    └──── Deposed ◀──────┴─────────── the others do not store what it sends ◀─────┘
//
// # Two copies, or three
//
// Base has what is committed. Reads see it alone, and answers come from it. A branch of it (ahead) has what may come next: what is
// stored here, and while this member leads what it has executed and appended. Goals are executed on the branch. When other
// records take their place, the branch is made anew from base. A second branch (peek) is there while this member believes that it leads,
// and another leader sends it records: they are looked at there.
//
// Each copy has a state of its own, of which the snapshot has up to txlog.MostState, 64 MiB. While copies are made anew, the one that
// comes from the disk is there beside them, and so is a snapshot while a branch is made of it.
//
// # Rules
//
// Proofs leave each out by its name: a simulated world does, or a patch of the source.
//
//   - opening: a new leader executes nothing before an entry of its own term is committed and applied. Until then it does not
//     know which entries of older terms stay.
//   - drop-speculation: what was executed in an old term and is not stored is dropped. It is executed anew where it stands then.
//   - dedupe-in-flight: a goal's id is looked up among entries in flight too. A goal whose id is in flight waits for that entry,
//     whatever its body is: while nobody knows whether the entry stays, neither is it done nor is its id another goal's.
//   - look-before-storing: a member applies what a leader sends to a copy with everything stored before it, and does not have it
//     stored if it comes out otherwise.
//
// # A wrong memory
//
// A member that refuses has its copies made anew from its disk, once for an entry: its own memory may be the wrong one. A
// leader gives its term up when so many refuse that it cannot commit, or when an entry that somebody refuses is not
// committed within five seconds. A goal that its own branch cannot take is executed once more, on one that is made anew: it does not
// fail by a memory. A value that is only read, by a goal or by a query, is not found by this: every Genesis.Scrub
// entries the leader puts in an entry with which everybody computes the state's hash anew from its content, a large state part by
// part with the entries after it.
//
// What such a leader has proposed is on its own disk. The authority drops it there when the term is given up, if nobody can
// count on it. A process that dies before that leaves it there: then this member may be elected again, since it has stored more
// than the others have, finds that it does not fit, and gives the term up each time. As long as another majority is there, it
// elects somebody else, who replaces it. If this member is needed for a majority nothing goes on, and nothing is lost.
//
// # Answers
//
// What is committed here is answered by any member: the same id always has the same answer, for Genesis.Retention entries. The
// rest is the leader's: another member names it. While nobody is known to lead, goals wait, for a minute; this member executes them
// if it comes to lead (B11). No error says that a goal has failed: that is an entry with a fault, which changes nothing (V3, V4).
//
// # Duties of the caller
//
//   - One goroutine feeds a machine, with a clock that never goes back, and a Tick each round or oftener. Look is called by the
//     same one.
//   - Facts come in the order in which the authority tells them, Refused with this member's own name after Look has refused.
//   - Actions are done in their order. Send an answer only after the records before it are on disk: what Applied brings is stored already.
//   - After Quarantine the authority gives the term up, and the machine is made anew from the disk. If it goes on instead, it may
//     lead again; until Rebuilt nothing is executed.
//   - Rebuilt has everything that Stored has told, and comes from the same disk: or, with Rebuild.Again, from another node's.
//   - Perform is retried until Done, as long as the act door is open. A performer that never ends holds up all effects after
//     it: it says Done when it gives an effect up, and Ended when it stops since the door is shut. Door comes before Ended then.
//   - Without Gone an asker is remembered until somebody is known to lead, for a minute at most.
//
// Sources: document 003; requirements B11, B13 to B15, V1, V3 to V5, V7.
package member
