// Package pgfence refuses what a deposed leader writes to Postgres: a transaction that
// shows the token of its leadership commits only while that token is the current one. It
// needs the schema conch in the same database (conch migrate up), and knows nothing of
// elections.
//
//	err := pgfence.Transact(ctx, conn, token, func(tx pgfence.Tx) error { … })   // pgx
//	err := pgfence.TransactSQL(ctx, db, nil, token, func(tx *sql.Tx) error { … }) // database/sql
//
// In a transaction that somebody else begins and ends, [Fence], or [SQL] sent by any
// client in any language, is the last statement before the commit.
//
// # What can fail, and what happens
//
//	CN001 [CodeStale]   somebody else leads, or nobody: fence.ErrStale; do not try again
//	40001               above READ COMMITTED: the snapshot is too old to tell; try again
//	25006               the transaction may not write; the fence needs one that may
//	no answer           to the COMMIT: nobody knows, as without a fence
//
// The fence holds its lock to the commit, and a mint waits for that: a transaction that
// idles behind its fence is ended by the server, one that works for longer than a lease by
// the mint.
//
// Requirements S15, S29; Kleppmann, "How to do distributed locking", on fencing tokens.
package pgfence
