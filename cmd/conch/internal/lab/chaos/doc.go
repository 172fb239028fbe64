// Package chaos is a seeded nemesis: it runs conch as real processes against a real Postgres and
// injects faults while they work.
//
//	nemesis (this package) ── private Postgres (its clock can be turned)
//	     │ signals               │
//	     │                     proxy 1   proxy 2   proxy 3     silent, slow, torn
//	     │                       │         │         │
//	     └────────────────▶  machine 1 machine 2 machine 3
//	                           conch demo-node: rows under conch.fence(), and
//	                                            a file that only the gate protects
//	                           conch run:       a child that writes to a file too
//
// A machine is a node and a conch run behind one line, so that each fault hits both. [Plan] is
// pure and makes a list of faults from a seed. The nemesis injects them one after the other,
// sometimes a second one while the first is on, and after each waits until all three workloads
// have gone on and every machine campaigns again. If that takes longer than a generous limit, it
// is a violation, as is everything that [Check] finds at the end.
//
// Some faults add processes while they last: two conch nodes with callers that act on the
// answers of their HTTP gates (type daemonPair), or clients that fence above READ COMMITTED without
// pause (pgrogue.Stream). Their evidence is judged as well.
//
// # How soon there must be a leader
//
// After every kind of fault a scope must be led again within a bound that follows from
// docs/guarantees.md; the table is in led.go. If a workload shows no sign of a leader for
// longer, that is the violation "led-in-time". Time in which nobody can lead, such as time
// without a database, does not count.
//
// # What is trusted
//
// No process that took part. Check reads the ledger, the files of workers and children with
// instants of one machine's CLOCK_BOOTTIME, the history table, and the nemesis's own record of
// its faults. The reports of a node prove nothing; the trials in this package's tests only wait
// for them.
//
// # What a run shows, and what it cannot
//
// The same seed gives the same plan, not the same run: processes have their own timing. A
// violation's replay line repeats the plan. Repeat it several times to look for a race.
//
// A process that is frozen between its gate's yes and its write does write when it wakes, and a
// busy machine may delay a write as long. Only a fence refuses such a write (see package fence).
// Check tells it from a write that the gate should have refused: each act carries the instant
// before it asked, and a gate shuts a margin before any other may open. An act that asked at
// least a margin before the first act of a newer epoch counts as a frozen write. One that asked
// later is a violation, whatever else was going on.
//
// Both workloads without a fence go on for as long as they can: acts until right before the
// deadline of the gate, children until they are killed, since they ignore SIGTERM. So lateness
// in either shows.
//
// The proxies answer TCP's own probes, so that only the timeouts of Postgres detect a silent
// line, the harder case. A library that is compiled here and loaded into Postgres alone turns
// the clock of the database. Without a C compiler the faults of that kind are skipped, and
// reported, when their turn comes, so that the plan is the same everywhere.
package chaos
