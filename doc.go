// Package conch is the front door of a library for services that run as several
// copies of which exactly one may act: send transactions from one account, run
// the crons, assign the jobs. It elects the one, proves to the outside world
// that it is the one, and hands over when it dies.
//
// This package holds no code. Import the wing you need; none of them makes you
// compile the others.
//
// # The idea
//
// Five steps, each by somebody who can be trusted with that much and no more:
//
//   - suggest: names who should lead. Fast, without votes, and allowed to be
//     wrong: two nodes may disagree for a while.
//   - mint: makes a leader. A linearizable store issues a token whose epoch only
//     grows; two tokens never have the same one.
//   - gate: says at the moment of acting whether this process still may. It is a
//     deadline inside the process: it closes early, never late.
//   - act: does the work. It knows a gate and nothing of elections.
//   - fence: refuses the stale actor at the resource itself.
//
// Anyone may suggest a leader, only a mint makes one, and only a fence makes it
// safe: a process that freezes between its check and its write still writes when
// it thaws, and no gate and no clock can catch that. So put the fence wherever
// the resource can carry one, in the same transaction as the write.
//
// # The wings
//
// Here today:
//
//   - [github.com/conchhq/conch/fence]: Token and Gate. The doorway: every actor
//     imports it, and it imports nobody.
//   - [github.com/conchhq/conch/election]: the elector, a pure machine under a
//     thin loop, for one or many scopes; drain and transfer.
//   - [github.com/conchhq/conch/fence/pgfence]: the fence in your own transactions of
//     Postgres, by pgx or database/sql.
//   - [github.com/conchhq/conch/election/pgmint]: the mint on Postgres.
//   - [github.com/conchhq/conch/election/pgops]: what operators do with it: look who leads,
//     drain, transfer, advance.
//   - [github.com/conchhq/conch/pending]: transactions of one account, kept until
//     they are final.
//   - [github.com/conchhq/conch/pending/pgstore]: the store of these transactions
//     in Postgres, which fences every write.
//   - [github.com/conchhq/conch/chain]: what pending needs of a ledger, and a ledger in
//     memory for tests.
//   - [github.com/conchhq/conch/chain/evm]: the driver for Ethereum and chains like it. It
//     is a module of its own, since it needs the libraries of go-ethereum.
//   - [github.com/conchhq/conch/chunksync]: file data that followers hold too, ready
//     to take over.
//
// For those who write a mint, a driver or a store, the suites that each must pass:
//
//   - [github.com/conchhq/conch/election/electiontest]: for mints, with one in memory
//     to test electors against.
//   - [github.com/conchhq/conch/chain/chaintest]: for drivers, with a chain in memory
//     to be broken on purpose.
//   - [github.com/conchhq/conch/pending/pendingtest]: for stores of transactions.
//
// For those who deploy conch:
//
//   - [github.com/conchhq/conch/deploy]: the grants of the three roles, as a script.
//
// Planned, and not there yet: do not look for them in this version.
//
//   - chain/substrate: the driver for chains built with Substrate
//   - transport: envelopes between nodes, in memory and over mutual TLS
//   - sequencer: ranking, delegation and grants for a shared contract
//   - gossip: suggestions by rumour, for many nodes
//   - txlog: a replicated log whose mint is a majority of a committee
//   - schedule: crons and jobs behind a gate
//
// # The binary
//
// Without a line of Go, the command conch (module
// github.com/conchhq/conch/cmd/conch) runs any program only while it leads:
//
//	conch run --scope crons -- ./my-service
package conch
