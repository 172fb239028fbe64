// Package pgstore keeps intents and pending transactions in Postgres. Its tables are in the schema
// conch, beside the leadership whose token fences every write; `conch migrate up` makes them.
//
//	db, err := pgstore.Open(ctx, pgstore.Connection{URL: url}, 4)
//	err = db.Check(ctx)                // says what to do if the tables are missing
//	is, err := driver.Describe(ctx)    // of the chain
//	store := db.Store(is.ID, "node-1") // give it to pending.New, and accept intents by it in any process
//	go db.Listen(ctx, waits, missed)   // to call Manager.Wake: without it a poll finds what waits within a second
//
// # Tables
//
//	intents               what callers asked for, accepted by any node
//	pending_transactions  slots: account, nonce, intent, the hash that counts, state
//	pending_attempts      the signed bytes, stored before they are sent
//	pending_accounts      an account's scope, and the database history of its last work
//	pending_lives         where an account began anew, on chains where one can: from which row on, above which block
//	pending_floors        a nonce of each account below which every slot is final
//	pending_holds         why no waiting intent of an account gets a slot
//	pending_events        what is told of intents, written by the statements that make the changes
//	pending_policies      what the callers of a token may have sent, and the limits of it
//	pending_spent         what is spent of a limit in a day or a minute
//	pending_reserved      what each intent has taken, for its day; pending_returned: what was given back
//	hooks, hook_waits     how far receivers were told of them, and what they have refused
//	archived_…            the finished rows of the first three, moved there
//
// The first attempt is not in its slot's row, although most slots have only one: each new state
// writes the whole row again, and with the bytes that costs as much as the second table saves, or
// more where a call has much data.
//
// A slot's state changes in place: no index names a column that changes, and its page has room. So no index tells which
// slots are open; they are those from the account's floor on that are not final. A floor that is too high would lose a
// transaction, which no leader would load: a trigger lowers it below whatever is opened by anyone, and a write of states
// raises it last, under a lock. An index of open slots cost 5 µs more of the database's 40 for a transaction, and 857 bytes
// for each slot instead of 644, since each end left dead rows and entries. Of an intent
// the slot's number cannot be stored in place: intents wait in an index. Nothing takes its place as a floor does, since they
// are numbered before they are committed.
//
// # Writes
//
// A write is one round trip and one transaction: all statements of a batch and, last,
// conch.fence with the leader's token. A stale token undoes all of it. If the connection breaks
// before the answer, or the server warns that it has stopped waiting for its standby, the write
// may have happened, and the leader reads the rows again. Every commit waits for the disk and the
// standby, whatever the setting of synchronous_commit. Callers that have intents accepted at the
// same time share a commit.
//
// The new states of slots with consecutive nonces, which differ in their hashes alone, are one span, found by one range of
// the primary key: a block costs half as much as slot by slot. Where no two neighbours are alike, each costs 1 µs more.
//
// # Limits
//
// The transaction that stores intents takes what they need from the limits of their policies ([Store.AcceptWithin]). It holds the
// policies' rows to its commit: several processes count one after the other, whole batches at a time. A check before the transaction let
// 16 callers exceed a limit of 1,000 by 8 to 12. What is given back by an end that is final are rows of their own, written by a trigger of
// pending_events, which the next acceptance takes off: a leader's write waits for no row that callers share.
//
// # Reads
//
// Callers look transactions up over a few connections of their own, so that they never delay a
// leader. Every statement of a leader reads unfinished rows alone. Finished rows can
// be moved to the archive, where their IDs and keys are still found. Of conch's own intents, whose keys no user can choose,
// those that have ended long ago are deleted ([Store.Forget]).
//
// # Notifications
//
// pending_tx_new and pending_tx_update carry the keys of a slot; of a statement with more than 16 slots of an account
// the nonces from which and to which they are, and how many. pending_intent carries an account that has something to
// do, and pending_event, without a payload, that there are events. Listeners read the rows themselves, and a poll finds what they missed.
//
// Sources: requirements S20, S23–S26.
package pgstore
