// Package core decides which scheduled times of crons are run, while this process leads. It is pure: [Core.Step] takes the time and
// an input, and returns what to read, what to write and what to tell.
//
// What is due follows from the cursor that is stored with a cron, never from a timer. A [Move] is one cron's step: it has rows for
// scheduled times, at most one gap for those that are passed over, and the new cursor. The store carries a move out only if the cron
// stands where the core has believed that it does, and none of its times lies ahead of the database's clock.
//
// A definition is never changed: who changes a cron adds a revision, from an instant on. Only the core adopts it, once all that the
// revision before it owes up to that instant is settled.
package core
