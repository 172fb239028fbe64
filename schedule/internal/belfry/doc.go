// Package belfry runs crons in a deterministic world of faults, and reports what broke.
//
//	report := belfry.Run(belfry.Config{Nodes: 3, Seed: 42})
//
// Under test is the production code: the node that leads has the [core.Core] that a scheduler runs. The database is package tables, whose
// calls are the statements, each at one instant; only a leader with the newest epoch may write.
//
// Nodes die and are frozen, also between an answer and the next statement; all are away; statements and answers are lost; the database is
// away; its clock is wrong by up to an hour, and put right; the leader's own is wrong; users make crons, change, pause, resume and retire them, and nodes
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
//	adopted   while nothing is wrong the newest revision is in force, and of files the one with the highest version
package belfry
