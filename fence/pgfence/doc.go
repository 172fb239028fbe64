// Package pgfence stops a former leader from writing to Postgres: a transaction that
// shows the token of its leadership commits only while that token is the current one. It
// needs the schema conch in the same database (conch migrate up) and knows nothing of
// elections.
//
//	err := pgfence.Transact(ctx, conn, token, func(tx pgfence.Tx) error { … })   // pgx
//	err := pgfence.TransactSQL(ctx, db, nil, token, func(tx *sql.Tx) error { … }) // database/sql
//
// If a framework such as GORM begins and ends your transactions, call [Fence] as the last
// statement before the commit, or send [SQL], which works from any client in any language;
// [Queue] adds it to a batch.
//
// # What can fail, and what happens
//
//	CN001 (CodeStale)   the token is not the current one: fence.ErrStale; do not try again
//	40001               above READ COMMITTED: the snapshot is too old to decide; try again
//	25006               above READ COMMITTED and READ ONLY: leave the fence out, or begin READ WRITE
//	no answer           to the COMMIT: the outcome is unknown, as without a fence
//
// The fence holds its lock until the commit, and the mint waits for the lock. The server
// ends a transaction that is idle after its fence for longer than a lease; the mint ends
// one that works for longer than a lease.
//
// Sources: requirements S15, S29; Kleppmann, "How to do distributed locking", on fencing
// tokens.
package pgfence
