// Package pgmint elects leaders in a Postgres database, version 14 or newer. Its [Mint] is the
// mint.Mint for production, and the package owns the schema conch. Package pgops is for
// operators: it shows an election, drains scopes and raises epochs.
//
// # How to use it
//
// Create the schema with [Up] or `conch migrate up`. Make a Mint with [New] and give it to an
// [election.Elector]; close it once its electors have ended. For work that ends, [Do] waits until
// this process leads, runs one function and gives the scope up.
//
// # What is where
//
//	conch.leadership          the truth: one row per scope, written when a term begins, settles or ends
//	conch.leadership_history  what happened, written in the transaction of each transition
//	conch.heartbeat           one row per scope, rewritten by each heartbeat with SessionLocks
//	conch.process             the candidates, and the heartbeats with ProcessLocks
//	conch.command             the requests of operators
//	conch.fence()             refuses a stale token inside the caller's own transaction
//
// Rows of conch.leadership are never deleted and epochs never go down; triggers enforce both.
//
// # The row decides who leads
//
// A session advisory lock only tells a candidate when to bid. It proves nothing: behind a pooler
// two clients can hold the same lock. A candidate wins by writing a new random term into the row
// while it holds the scope's fence exclusively. A heartbeat succeeds only if it updates its row
// under its own term and commits without a warning, such as that no standby has confirmed it.
//
// # The lock session is a lease
//
// A candidate bids and sends heartbeats on one dedicated connection, its lock session. By default
// Postgres keeps the session of a stopped or unreachable client, and its locks, for minutes or for
// ever. So the lock session sets idle_session_timeout and related settings to the lease, except
// with mint.Keep, and heartbeats keep it alive by the server's clock.
//
// # Thousands of scopes
//
// A full lock table keeps even new connections out of the server. So locks have a budget, and
// [Mint.Open] refuses a candidate that needs more. With [ProcessLocks] a
// session locks only its process key, and a heartbeat renews one row of conch.process for every
// term that the session has minted and not given up.
//
// Candidates of both modes may compete: a scope is free if it was given up or if its holder's
// process key can be locked, and its winner sets a tombstone on that process in the same
// transaction. This invariant makes it safe: while a process has no tombstone, each of its rows
// that was not given up has the term that the process believes in. Code that writes
// conch.leadership must keep it.
//
// # The fence
//
// Every transaction that calls conch.fence shares a lock that a mint takes exclusively. A bid that
// finds it busy gives up the term of an ended process first, so that no new transaction passes, and
// waits in slices between heartbeats. It ends transactions that hold the lock and began more than a
// lease ago, and names those that it cannot end, with what would end them.
//
// # No statement waits for a row
//
// A wait on the lock session delays the heartbeats of all scopes of the process. So bids and
// farewells skip locked rows, and the fence locks a row for no longer than an instant. lock_timeout
// limits each lock and not a statement, so statement_timeout is set as well, to half a lease.
// Followers wait on other connections, in shared mode, for the holder's process key. All wake
// within a millisecond of its end, and a dead waiter blocks nobody. They wait in slices of five
// seconds: a longer wait would hold back the xmin horizon and stall CREATE INDEX CONCURRENTLY.
//
// # Database failovers
//
// A token names the system identifier and the timeline that minted it. If a row comes from another
// history, later terms may be lost: the epoch jumps by a million for each timeline between, a
// release does not count, and the hold is the longest lease that a candidate has registered.
//
// Requirements S1, S2, S4–S13, S27–S29.
package pgmint
