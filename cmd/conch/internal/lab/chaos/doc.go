// Package chaos is a seeded nemesis: it runs conch as real processes against a
// real Postgres and does to them what happens to processes, while they work.
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
// A machine is a node and a `conch run` behind one line, so that whatever happens
// to it happens to both. [Plan] makes a list of faults of a seed and is pure. The
// nemesis applies them one after the other, sometimes a second one while the first
// is still on, and after each waits until all three workloads have gone on and
// every machine campaigns again. Who does not get there in a generous time is a
// violation, as is anything that [Check] finds at the end.
//
// Some faults bring more with them, for as long as they last: two `conch node`s, whose
// HTTP gates strangers ask and act upon (type site), or clients that fence above READ
// COMMITTED and never pause (pgrogue.Stream). What these leave behind is judged as well.
//
// # How soon somebody has to lead
//
// From every kind of fault a scope has to be led again within a time that follows from
// docs/guarantees.md: the table is in led.go. A workload of a scope that shows no sign of a
// leader for longer is a violation, "led-in-time". Time in which nobody can lead, such as
// that without a database, does not count.
//
// # What is believed
//
// Nobody who took part. Check reads the ledger, the files that workers and
// children wrote, with instants of one machine's CLOCK_BOOTTIME, the history
// table, and what the nemesis did and when. What a node reports of itself decides
// nothing here; the trials in this package's tests wait for it, no more.
//
// # What a run shows, and what it cannot
//
// The same seed gives the same plan, not the same run: processes have their own
// timing. A violation's replay line repeats the plan, and repeating it several
// times is how to look for a race.
//
// A process frozen between its gate's yes and its write does write when it wakes, and
// one on a busy machine may take as long; nothing but a fence refuses that (package fence
// says so). Check tells such a write from one that its gate should have refused: each act
// carries the instant before it asked. Gates are shut a margin before any other may
// open. So an act that asked a margin before the first act of a newer epoch is counted as
// a frozen write, and one that asked later, whatever else was going on, is a violation.
//
// Both workloads without a fence go on for as long as they may: acts until right before
// the deadline of the gate, children until they are killed, since they do not hear
// SIGTERM. Whoever is late with either is seen to be.
//
// The proxies answer TCP's own probes, so a silent line is found by Postgres'
// timeouts alone, the harder case. The clock of the database is turned by a library that
// is compiled here and loaded into Postgres alone; without a C compiler those kinds are
// passed over when their turn comes, by name, so that the plan is the same everywhere.
package chaos
