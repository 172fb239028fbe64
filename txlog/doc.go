// Package txlog has the words of a log of goals with one leader: the leader executes a goal, an authority stores what came of it, and every node
// applies the same change to its copy. The authority is a majority of the members or a database: what was acknowledged is not lost while a
// majority of the members' disks lives, or the database.
//
// To run a log, import package quorum (a module of its own), whose Host is one node of it; or package pgstore, whose Member is one over Postgres.
// To have a log do something of your own, write a [State], as package kv does; the test kit txlogtest has the suite that it must pass.
//
// This package does nothing by itself. It has values, and the rules that every node checks for itself:
//
//	Genesis    how a log begins; its hash is the log's name
//	Entry      one step: a goal with its result and its diff, or another set of members, …
//	Record     an entry with its bytes and their hash, as it is stored and sent
//	Head       a member's signed word that the log is committed up to an index
//	State      a state machine, which goals change; package kv has one
//	Copy       the content of a log at one index, which takes nothing over that does not fit
//	Answer     what became of a goal
//
// # The chain
//
// Each entry has the hash of the one before it, the diff that it makes, and the hash of the state after it. So a copy is
// checked entry by entry (B15, V7), the goal is never executed a second time (B14), and two nodes that have the same
// hash at one index have the same log and the same state.
//
// # Why a hash is enough
//
// A member signs the hashes at an index, and any node may serve what they are of. So each hash commits to its content, also where users or
// liars chose it, as long as nobody finds two texts with one SHA-256. An entry's is that of its bytes, the hash before it among them. A
// state's is that of a [Tree]: every hash in it is of a text that says all hashes below it, so that two states with one hash would have two
// texts with one hash where they differ first. Results and effects, which come and go in a row, are a chain of hashes and a number. No hash
// is a sum of others: for such a sum, content that fits is found in minutes.
//
// # What can go wrong
//
//	an entry does not follow       ErrChain: nothing has changed
//	a diff does not fit            ErrDiff: nothing has changed; memory is wrong, here or at the leader
//	the state comes out otherwise  ErrSpoiled with ErrState: the copy is thrown away and made anew from the store
//	a goal fails                   an entry with a fault and no diff: nothing of it stays (V3, V4)
//	the outbox is full             the goal fails: 1,024 effects wait to be performed
//	a goal comes twice             Copy.Admit returns what came of it the first time
//	the same id, another goal      ErrGoalID
//	an id from long ago            ErrOld: its result may be forgotten
//
// # What a log takes
//
//	a goal       64 KiB, an id of 128 bytes, and a million steps (Budget)
//	an outcome   a result of 4 KiB, a fault of 1 KiB, a diff of 1 MiB, 16 effects of 16 KiB each
//	the outbox   1,024 effects that wait to be performed
//	a state      a snapshot of 64 MiB
//	a log        nine members, names of 128 bytes, results of 32,768 entries
//
// # Whom it trusts
//
// Members are trusted not to lie: a member that signs heads of what no majority has stored spoils the copies of those that
// hear it alone. Others notice it, since two heads that differ are kept as evidence.
//
// Sources: document 003, requirements B8 to B15, V1 to V8.
package txlog
