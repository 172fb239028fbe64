// Package store says what a node keeps of a log, a member or a follower, and how: one [Step] is stored whole or not at all,
// and is on the disk when Write returns. Package disk, in the module txlog/quorum, keeps it in a file; [Memory] is for tests and
// simulations.
//
//	Value   a small named value: what an authority has promised, heads that cover a change of members, proofs of a fork
//	Slot    what is stored and may still be replaced: an entry of the authority's own log
//	Record  an entry that is committed: never replaced, each follows the one before
//	Kept    a snapshot, which pieces are read of
//
// # Rules
//
//   - sync-first: nothing is acknowledged, sent or believed before Write has returned. After an error of Write that is no fault
//     of the step, [ErrSync], nothing of the store works any more: what is on the disk is unknown, asking again would not tell
//     it, and it is opened again by another process at the earliest.
//   - new-disk-new-member: a store draws its id by chance when it is made. A node that has lost a store, or has emptied or damaged it,
//     has another one, with another id, and is no member until an entry says so. A damaged store answers [ErrDamaged] from
//     then on, and says what to do.
//
// # What no store can see
//
// A file that was restored from a backup, a copy of a file that runs on another host, and a disk that acknowledges what it
// does not keep look like the store as it was. Such a store votes under its id and does not know what it had promised
// since. Two heads that differ at one index may show it later; nothing prevents it. So a member is never restored: it begins
// anew, with a new id.
//
// Sources: requirements V1, V2, V8 and B15.
package store
