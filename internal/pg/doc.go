// Package pg is everything conch knows about talking to PostgreSQL that is not
// about elections: how to connect (config.go, tls.go), the dedicated session that
// holds locks (session.go), poolers (pooler.go), notifications (listen.go) and
// what an error means and what to do about it (classify.go, sentence.go).
//
// # Session
//
// A Session is one connection that is never pooled. Its settings turn a lock held
// on it into a lease that the *server* enforces: idle_session_timeout and its
// relatives end the session when its owner is silent for the lease, whatever the
// reason (stopped, blackholed, dead machine), and the lock with it. With default
// settings such a lock stays for minutes or for ever.
//
//	connected ──settings ok──▶ open ──error of the line, lease over──▶ lost
//	    │
//	    └── VersionError | StandbyError | PoolerError: refused, nothing changed
//
// Duties of the caller: one goroutine at a time; a deadline in the context of
// every statement (pgx closes the connection when it passes, so a slow answer and
// a lost session look alike: both mean that the lock may be gone); speak at least
// once per lease.
//
// # What can fail
//
//   - the server is older than 14, a standby, or behind a pooler in transaction or
//     statement mode: typed errors, refused at Open. Session mode is allowed, and
//     Caution says what it costs
//   - a commit that arrives with a WARNING: the server stopped waiting for its
//     synchronous standby, so the commit may be lost in a failover. Watch and
//     Batch hand the warning over; a heartbeat counts it as failed, and other writes
//     (Durable, Confirmed) as one whose answer was lost
//   - the line: IsLost; the session is dead, and so is every lock on it
//
// # TLS
//
// Config.Parse is the one place where TLS is decided, for the lock session, LISTEN,
// pools and migrations alike.
package pg
