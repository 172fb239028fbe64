// Package firehouse has alerts fire and end in a deterministic world of faults, and reports who was told what is not so.
//
//	report := firehouse.Run(firehouse.Config{Nodes: 3, Seed: 42})
//
// Under test is the production code: the node that leads has the [core.Core] that an evaluator runs, and each node the [watch.Machine] that a watcher runs.
// The database is package tables; only a leader with the newest epoch may record. A pager makes one incident of a key, a channel shows people each text.
//
// Nodes die and are frozen, also between a record and the sending, and for longer than a takeover takes; statements and answers are lost; the database is
// away, or out of a node's reach, and its clock is wrong; messages are lost, come up to a minute late and in another order, are refused, or have no answer;
// rules select nothing for a while; users set silences and end them; nodes have different files. Then nothing is wrong for half an hour. The constants, from
// [Open] on, say what is judged.
package firehouse
