// Package conch is the front door of a library for services that run as several
// copies of which exactly one may act: send transactions from one account, run
// the crons, assign the jobs. It elects that one copy, proves to other systems
// that it leads, and hands over to another copy when it dies.
//
// This package holds no code. Import the wing you need; you do not compile the
// others with it.
//
// # The idea
//
// Leadership passes through five steps:
//
//   - suggest: names the node that should lead. It is fast, takes no vote and may
//     be wrong: two nodes may disagree for a while.
//   - mint: makes a leader. A linearizable store issues a token whose epoch only
//     grows; two tokens never have the same epoch.
//   - gate: answers, at the moment of acting, whether this process still may act.
//     It is a deadline inside the process: it shuts early, never late.
//   - act: does the work. It knows a gate and nothing of elections.
//   - fence: refuses the stale actor at the resource itself.
//
// Any node may suggest a leader, only a mint makes one, and only a fence makes it safe: a
// process that freezes between its check and its write still writes when it resumes, and
// no gate and no clock can stop that write. So use the fence wherever the resource can
// carry one, in the same transaction as the write.
//
// # The wings
//
// Here today:
//
//   - [github.com/conchhq/conch/fence]: Token and Gate. Every actor imports it; it
//     imports no other wing.
//   - [github.com/conchhq/conch/election]: the elector, a pure machine under a
//     thin loop, for one or many scopes; drain and transfer.
//   - [github.com/conchhq/conch/fence/pgfence]: the fence in your own Postgres
//     transactions, by pgx or database/sql.
//   - [github.com/conchhq/conch/election/mint]: what an elector asks of a mint, for the author of another
//     one; [github.com/conchhq/conch/election/pgmint]: the mint on Postgres.
//   - [github.com/conchhq/conch/election/pgops]: what operators ask and do: status,
//     history, drain, transfer, advance.
//   - [github.com/conchhq/conch/pending]: transactions of one account, kept until
//     they are final.
//   - [github.com/conchhq/conch/pending/pgstore]: the Postgres store of these
//     transactions, which fences every write.
//   - [github.com/conchhq/conch/pending/hook]: tells receivers of what happens to them, by
//     signed webhooks, in turn for each transaction.
//   - [github.com/conchhq/conch/chain]: the interface between pending and a chain, and
//     a chain in memory for tests.
//   - [github.com/conchhq/conch/chain/endpoints]: one chain of several endpoints,
//     none of which is believed alone.
//   - [github.com/conchhq/conch/chain/evm]: the driver for Ethereum and similar chains.
//     It is a separate module, since it needs the libraries of go-ethereum.
//   - [github.com/conchhq/conch/chain/substrate]: what reads and writes the bytes of Substrate chains, a module of its own:
//     [github.com/conchhq/conch/chain/substrate/scale], [github.com/conchhq/conch/chain/substrate/metadata],
//     [github.com/conchhq/conch/chain/substrate/ss58], [github.com/conchhq/conch/chain/substrate/extrinsic],
//     [github.com/conchhq/conch/chain/substrate/key]. [github.com/conchhq/conch/chain/substrate/substratetest] is a chain and a node that a test
//     scripts.
//   - [github.com/conchhq/conch/chain/keyservice]: keys that a service keeps, and
//     [github.com/conchhq/conch/chain/keyservice/vault] is one such service;
//     [github.com/conchhq/conch/chain/keyservice/awskms] and
//     [github.com/conchhq/conch/chain/keyservice/gcpkms] are modules of their own.
//   - [github.com/conchhq/conch/chain/feed]: one chain shared by all accounts of a
//     process, which then ask for its heads and blocks once.
//   - [github.com/conchhq/conch/transport]: messages between the nodes of several
//     organisations; [github.com/conchhq/conch/transport/memory] is a network in one
//     process, [github.com/conchhq/conch/transport/mtls] one between processes, over TLS in
//     which both sides prove who they are.
//   - [github.com/conchhq/conch/sequencer]: one organisation's node of private contracts
//     that several share.
//   - [github.com/conchhq/conch/sequencer/ledger]: how a shared contract is declared, and
//     what it takes.
//   - [github.com/conchhq/conch/sequencer/evm]: the same as a contract on Ethereum and similar
//     chains. It is a separate module, since it needs the libraries of go-ethereum.
//   - [github.com/conchhq/conch/sequencer/domain]: what the author of a contract's rules
//     writes.
//   - [github.com/conchhq/conch/sequencer/notes]: the worked example of such rules, notes of
//     money that any member may spend.
//   - [github.com/conchhq/conch/sequencer/pgstore]: the Postgres store of such a node,
//     which fences every write.
//   - [github.com/conchhq/conch/gossip]: one leader as a hint for thousands of nodes, and the same
//     news for all.
//   - [github.com/conchhq/conch/txlog]: the words of a log that every node copies and
//     checks, entry by entry. [github.com/conchhq/conch/txlog/kv]: its first state machine,
//     a store of keys and values, which also says how to write another one;
//     [github.com/conchhq/conch/txlog/prolog], a module of its own: an ontology, whose goals are goals of Prolog.
//     [github.com/conchhq/conch/txlog/quorum], a module of its own: one log on one node, where a
//     majority of named members says which entry is the next;
//     [github.com/conchhq/conch/txlog/founding]: what nodes say to each other when they make one.
//     [github.com/conchhq/conch/txlog/pgstore]: a Postgres database says which entry is the next, under a fence.
//     [github.com/conchhq/conch/txlog/store] says what a node keeps of it, and
//     [github.com/conchhq/conch/txlog/quorum/disk] keeps it in a file.
//   - [github.com/conchhq/conch/schedule]: crons and jobs, each scheduled time and each job once, behind gates.
//   - [github.com/conchhq/conch/schedule/pgstore]: the Postgres store of crons and jobs, which fences every
//     write of a leader and a worker.
//   - [github.com/conchhq/conch/schedule/riverq], a module of its own: it hands jobs to a River that a user has.
//   - [github.com/conchhq/conch/schedule/zone]: which instants a schedule in wall-clock time means.
//   - [github.com/conchhq/conch/alerts]: what fires and who is told, once, behind a gate.
//   - [github.com/conchhq/conch/alerts/memory]: the store of a node without a database
//   - [github.com/conchhq/conch/alerts/pgstore]: the Postgres store of alerts, silences and samples, which fences every write
//     of a leader.
//   - [github.com/conchhq/conch/chunksync]: file data that the leader copies to its
//     followers, so that each of them can take over.
//
// The suites that a new mint, driver or store must pass:
//
//   - [github.com/conchhq/conch/election/electiontest]: for mints, with a mint in
//     memory to test electors against.
//   - [github.com/conchhq/conch/chain/chaintest]: for drivers, with a chain in memory
//     that a test can break on purpose.
//   - [github.com/conchhq/conch/chain/evm/evmtest]: no suite, but a node of Ethereum, keys, and JSON-RPC
//     providers that limit, lag and lie as real ones do.
//   - [github.com/conchhq/conch/chain/keyservice/keyservicetest]: for clients of such services, with
//     stand-ins for three of them.
//   - [github.com/conchhq/conch/sequencer/domain/domaintest]: for the rules of a contract's
//     states.
//   - [github.com/conchhq/conch/sequencer/sequencertest]: no suite, but a chain and a
//     store in memory for nodes of private contracts, and their simulated world;
//     [github.com/conchhq/conch/sequencer/sequencertest/liar]: a member that lies.
//   - [github.com/conchhq/conch/gossip/gossiptest]: no suite, but a simulated crowd of such nodes.
//   - [github.com/conchhq/conch/schedule/scheduletest]: no suite, but a simulated world of crons.
//   - [github.com/conchhq/conch/alerts/alertstest]: for stores of alerts, with one in memory, and the simulated world of alerts.
//   - [github.com/conchhq/conch/txlog/kv/kvtest]: for logs with a store of keys and values: whether
//     their answers are linearizable.
//   - [github.com/conchhq/conch/txlog/txlogtest]: for authorities and state machines of a log
//     to test their users on.
//   - [github.com/conchhq/conch/txlog/quorum/quorumtest]: no suite, but a simulated log;
//     [github.com/conchhq/conch/txlog/spreadtest]: how its entries come to thousands.
//   - [github.com/conchhq/conch/transport/transporttest]: for transports.
//   - [github.com/conchhq/conch/pending/pendingtest]: for stores of transactions.
//
// For deployments:
//
//   - [github.com/conchhq/conch/deploy]: the grants of the three database roles, as
//     an SQL script.
//
// # The binary
//
// The command of the module github.com/conchhq/conch/cmd/conch runs any program only
// while it leads:
//
//	conch run --scope crons -- ./my-service
package conch
