// Package evidence decides, from what was left behind, whether exactly one acted
// and whether anything was lost when leadership changed hands.
//
// It believes nobody who took part. Five things are collected from outside:
//
//   - the ledger: rows written behind the fenced door, in the order in which
//     their transactions began to write. It has no unique constraint, so that a
//     double can be seen;
//   - the outside file: acts behind the act door, in the order in which the
//     operating system appended them, each with its start and end;
//   - the acknowledgements: what each process believed was committed;
//   - the kills, and when each successor's act door opened.
//
// Where transactions were sent, there is an [Account] as well: what customers asked
// for and were told, what the chain itself has, block by block, and what the database
// says. Only the chain tells what was done; the database is held against it.
//
// All instants are readings of one machine's CLOCK_BOOTTIME, the same for every
// process and independent of the database. [Judge] is a pure function over this
// [Record]: a test can forge any fault and see it counted.
package evidence
