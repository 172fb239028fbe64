// Package pg contains the parts of conch that talk to PostgreSQL and are not about
// elections: connections, the dedicated session that holds locks, the detection of
// poolers, notifications, and the meaning of errors and their remedies.
//
// # Session
//
// A Session is one connection that is never pooled. Its settings turn its locks into
// a lease that the *server* enforces: idle_session_timeout and related settings end
// the session, and so free its locks, when the client is silent for the lease, whatever
// the reason (a stopped process, a black hole, a dead machine). With default settings
// the lock stays for minutes or for ever.
//
//	connected ──settings ok──▶ open ──connection error, lease over──▶ lost
//	    │
//	    └── VersionError | StandbyError | PoolerError: refused, nothing changed
//
// Duties of the caller: use the session from one goroutine at a time; give the context
// of every statement a deadline (pgx closes the connection when it passes, so a slow
// answer and a lost session look alike: both mean that the lock may be gone); send a
// statement at least once per lease.
//
// # What can fail
//
//   - The server is older than 14, a standby, or behind a pooler in transaction or
//     statement mode: Open refuses with a typed error. Session mode is allowed, and
//     Caution says what it costs.
//   - A commit returns with a WARNING: the server stopped waiting for its synchronous
//     standby, so a failover may lose the commit. Watch returns the warning. A
//     heartbeat counts as failed; other writes (Durable, Confirmed) count as commits
//     with an unknown outcome.
//   - The connection breaks: IsLost. The session is dead, and every lock on it is free.
//
// # Addresses
//
// A database may have several addresses: hosts of its URL, and those behind one name. Every connection
// is made by connect, which tries them beside each other, the last good one first; a pool is told by
// Settle. An address that is silent costs the others half a second. If none is any use, the error has
// the outcome of each.
//
// # TLS
//
// Config.Parse decides on TLS for the lock session, LISTEN, pools and migrations alike.
package pg
