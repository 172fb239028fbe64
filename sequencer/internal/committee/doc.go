// Package committee runs the sequencer of a committee in a deterministic world of faults and reports what broke.
//
//	report := committee.Run(committee.Config{Nodes: 5, Seed: 42})
//
// Under test is the production code: each node has the core that a node runs, with the machines of a contract in it, and its
// messages travel as bytes. Around it are simulated: the network, the clocks, each node's database, the goroutines that
// perform what a core says, and the base ledger, which is the pure model that passes the same suite as a contract on a chain.
//
// # The world
//
// Users hand intents in at all nodes: they put tokens into purses, which any member may spend, move them, ask for what
// can never be and for what fails each time, ask again until they hear an answer, and cancel. Messages are mostly quick,
// and some are late, doubled, out of order or lost. Links are cut in one direction or both; partitions come and go.
// Nodes are killed at any time and at each commit, before it and after it, and start again from what was committed. A
// database is restored from an old copy. What a node asks of its database, its chain and its keys comes late or fails, once or
// for seconds, and is asked again as a node does; what was stored is stored again if its answer was lost. A contract in which
// nothing happens falls asleep, and messages and users wake it. Operators have nodes coordinate no more for a while. Blocks reach nodes late, so that their heights differ by up to two ranges; an
// indexer stands still. The chain is reorganised down to its last final block; some chains make blocks only of
// something. Transactions wait for a long time. Anybody copies public entries, as they are and under their own name, and
// coordinators ask for grants of what nobody has assembled.
//
// The faults end after [Config.Faults], and users go on for a while. Then every intent has to end, and the committee has to fall silent.
//
// Scenes are worlds with one trouble each, in which it is judged how long intents take. Stories are small ones, told
// message by message and compared with files.
//
// # Invariants
//
// They are judged at each event, and at the end, and are numbered as in the requirements: an intent lands once (I1);
// every accepted intent ends, as its user is told, and one is given up only if its user or its rules say so (I2); what
// the states are worth is what was issued (I3); first attempts are asked for in submit order (I4); nothing is dispatched
// without a stored grant for what its owner has assembled (I5); a node that begins to coordinate waits for what it
// inherits, and what was closed stays closed (I6); without faults one node dispatches (I8); without work nothing is sent
// (I9); each request has one answer (I10). What is skipped is counted by its cause, and apart from it what somebody has copied
// and what was in a block before. In a world with few notes, hardly anything may be built on what cannot land any more, and
// nothing is skipped any more soon after the last fault.
//
// # Broken rules
//
// [Config].Break leaves out one rule of the design; [Simulator] has them, with the invariant that falls. The world leaves out what
// it can, and otherwise it runs in a build in which a patch has: package patched.
package committee
