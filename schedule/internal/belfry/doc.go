// Package belfry runs crons and jobs in a deterministic world of faults, and reports what broke.
//
//	report := belfry.Run(belfry.Config{Nodes: 3, Seed: 42})
//
// Under test is the production code: the node that leads has the [core.Core] that a scheduler runs, and each post of workers the
// [worker.Machine] that a worker runs. The database is package tables, whose calls are the statements, each at one instant; only a leader with the
// newest epoch may write. A handler is a command, which ends with its process and is killed at the deadline of the post; or a function,
// which may wake up after it, and whose effect the database refuses if its attempt is over.
//
// Nodes die and are frozen, also between an answer and the next statement; all are away; statements and answers are lost; the database is
// away, or out of a node's reach; its clock is wrong by up to an hour, and put right; the leader's own is wrong; users add jobs, some of which kill their
// workers, and cancel some; they make crons, change, pause, resume and retire them, and nodes
// start with an older configuration file; some know older rules of a zone. Then nothing is wrong for an hour. Rows are kept for half an hour.
// The constants, from [Once] on, say what is judged.
package belfry
