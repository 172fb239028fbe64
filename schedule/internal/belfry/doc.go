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
//
// # Invariants
//
//	once      no time gets two rows, by the instant or by the wall clock, as long as anybody can remember
//	due       no row is written before its time
//	in-force  a row is of the revision that is in force at its time
//	leader    a deposed leader writes nothing
//	on-time   no time is passed over as missed that is not late yet
//	settled   each time has a row or is in a gap, and none is passed over while nothing is wrong
//	kept      no row is deleted above the cursor, or before it is old by the truth or by its leader's clock
//	alone     no two commands of one job, or of one lane, run at once
//	told      no attempt is told to have ended while the command of one runs
//	effect    a job whose handler proves its attempt has its effect once if it is done, and else never
//	counted   no job begins more often than it may be tried
//	cancelled no attempt of a job begins after that in which it was cancelled
//	ended     while nothing is wrong every job ends
//	adopted   while nothing is wrong the newest revision is in force, and of files the one with the highest version
package belfry
