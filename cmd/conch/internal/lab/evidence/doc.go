// Package evidence judges, from what a run left behind, whether exactly one process acted
// and whether anything was lost when leadership changed hands.
//
// It trusts none of the processes involved. A [Record] holds:
//
//   - the ledger: rows written behind the fenced door, in the order in which their
//     transactions began to write. It has no unique constraint, so duplicates are visible;
//   - the outside file: acts behind the act door, in the order in which the operating
//     system appended them, each with its start and end;
//   - the acknowledgements: the rows that each process believes committed;
//   - the kills, and when each successor's act door opened.
//
// If transactions were sent, it also holds an [Account]: the customers' requests and the
// answers they got, the chain block by block, and the database. The chain alone decides
// what was done; the database is compared with it. If a cron was run, it holds the times that have a row, and
// those that have a job. If a receiver of webhooks was told of transactions, it holds what that has confirmed.
//
// All instants are readings of one machine's CLOCK_BOOTTIME, which all processes share and
// which does not depend on the database. [Judge] is a pure function over a Record, so a
// test can forge any fault and see it counted.
package evidence
