// Package logworld runs a log in a deterministic world of faults, and reports what broke.
//
//	report := logworld.Run(logworld.Config{Nodes: 7, Members: 5, Seed: 42})
//
// Under test is the production code: each node runs a [core.Core], which joins the machines of a member and of a follower, and
// stores by package store what it has to. The loop, the disks, the network, gossip and the clocks are simulated. What
// nodes say to each other travels as bytes.
//
// # The world
//
// Clocks begin hours apart and run up to 2 % too fast or too slow. Messages take 1 to 20 ms, get lost, come twice, or
// stall. A write to a disk lasts once it is synced, which takes a millisecond or much longer. Of what was written since, a process
// that dies leaves the first part or nothing, and what is written lazily is written since until the next sync. A process that
// stands still does nothing, and its clock goes on.
// Processes die at chosen points of a goal's way. Disks are lost, and bits flip on them and in memory: then the content of
// a copy is another one, and its hash, which is kept by the diffs, is not.
//
// What goals are of is a Machine: keys and values, or what Simulator is given, such as an ontology in Prolog. The judge executes
// each goal in a memory of its own.
//
// Clients ask for goals and read, one thing at a time. They ask again with the same id when they hear nothing, at another
// node too; now and then they ask for an old goal once more, or for another goal with an old id.
//
// Scenes are worlds with one trouble each; the others have every fault. Then comes a calm, in which clients go on for
// a while, and in the end all must be answered and equal.
//
// # Invariants
//
//	one-record       at each index all nodes have the same entry, in all their lives
//	acked-kept       what was acknowledged is in the log, while a majority of the members' disks lives
//	once             a goal is in the log once at most
//	right-result     what is in the log is what comes of its goals in a memory that nothing has spoiled
//	never-ahead      no follower has what no member knows to be committed
//	one-door         act doors never overlap, in true time
//	linearizable     an answer has the effects of all that was acknowledged before it was asked for
//	never-failed     what somebody was told to have failed is not in the log, then or later
//	performed        what a goal wants done outside is done, through an open act door
//	store-once       no member's store lacks what the leader knows it to have stored
//	lies-denied      in the end nobody takes a head for true of which nobody has the entry
//	honest-trusted   of no member that keeps the rules anybody says that it lies
//	in-order         what a member stores follows what it has stored before it
//	all-answered     in the end every goal is answered
//	all-equal        in the end all copies are equal, and each lost store is replaced
//	says-what-to-do  a log that has lost its majority acknowledges nothing, and says what to do
//
// The log gives all entries one order, so a history is linearizable if that order keeps the order of what did not overlap,
// and each answer is the one of its place. The tests ask an existing checker the same.
//
// # Broken rules
//
// [Config].Break leaves out one rule of the design; [Simulator] has them, with the invariant that falls. The world leaves out what
// it can, and otherwise it runs in a build in which a patch has: package patched.
package logworld
