// Package pgmint mints leadership tokens in a Postgres database, version 14 or
// newer. It is the election.Mint for production, and owns the schema. What operators do with
// an election, and the process that obeys them, is package pgops.
//
// # What is where
//
//	conch.leadership          the truth: one row a scope, written on transitions only
//	conch.leadership_history  what happened, written in the transaction of each transition
//	conch.heartbeat           one row a scope, rewritten at every heartbeat that names its terms
//	conch.process             who campaigns; the heartbeat of processes that name none
//	conch.fence()             refuses a stale actor inside the caller's own transaction
//
// Rows of leadership are never deleted and epochs never go down; a trigger sees to it.
//
// # The row is the truth, the lock only says when to try
//
// A session advisory lock tells a candidate that nobody else is at it. It proves
// nothing: behind a pooler two clients hold one lock. What makes a leader is the
// row, rewritten under a new random term while the scope's fence is held alone. A
// heartbeat succeeds only if it updated its row under its own term and was
// committed without a warning.
//
// # The session lock is a lease
//
// With default settings the session of a stopped or unreachable client lives for
// minutes or for ever, and so does its lock. The lock session therefore sets
// idle_session_timeout and its kin to the lease: heartbeats, on that same session,
// keep it alive by the server's clock.
//
// # Thousands of scopes
//
// A session pays for each lock it holds, and a full lock table keeps even new
// connections out, so there is a budget: a candidate that needs more is refused
// ([LockBudgetError]). With [ProcessLocks] a session holds its process key and no other
// lock. A scope is free if it was given up or if its holder's process key can be
// locked, which is asked in both modes, so that they mix; whoever takes it sets a
// tombstone on that process in the same transaction. A heartbeat by process is one
// row, `WHERE process_key = mine AND NOT tombstoned`, and stands for every term that
// the session has minted and not given up. What makes that safe is one invariant: a
// process without a tombstone ⇔ each of its rows that was not given up has the term
// that the process believes in. Whoever writes conch.leadership has to keep it.
//
// # The fence
//
// Every fenced transaction shares a lock that the mint takes alone. A mint that
// finds it busy waits in slices between heartbeats. Nobody else passes meanwhile: a term
// whose process has ended is given up first. Transactions that have held the lock for
// longer than a lease are ended; what cannot be ended is named, with what would end it.
//
// # Nothing waits for a row
//
// On the lock session a wait is a heartbeat that does not come, for all scopes of the
// process. Bids and farewells pass over rows that somebody has locked, and the fence
// locks none for longer than an instant. lock_timeout bounds each lock and not a
// statement, so statement_timeout is set as well, to half a lease.
//
// # Waiting
//
// Each session holds a lock on its own process key, written into the rows it mints.
// Followers wait for that key in shared mode, so that all of them wake within a
// millisecond of the holder's end and a dead waiter is in nobody's way; in slices of
// five seconds, since a longer wait would pin the horizon of the whole database and
// stall CREATE INDEX CONCURRENTLY.
//
// # Database failovers
//
// A token names the system identifier and the timeline it was minted in. When a row
// comes from another history, terms after it may have been lost: the epoch jumps by
// a million times the timeline, a release does not count, and the wait covers the
// longest lease that any candidate of the scope has registered.
//
// Requirements S1, S2, S4–S13, S27–S29.
package pgmint
