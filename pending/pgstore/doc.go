// Package pgstore keeps intents and pending transactions in Postgres, in the schema
// conch, beside the leadership whose token fences every write.
//
// # Tables
//
//	intents               what shall be done, accepted by any node
//	pending_transactions  a slot: account, nonce, its intent, the hash that counts, its state
//	pending_attempts      the signed bytes, stored before they may leave
//	pending_accounts      an account's scope, and the database history it was last worked on in
//
// # A write
//
// One round trip: all statements of a batch and, last, conch.fence with the leader's
// token, in one implicit transaction. A stale token undoes all of it. When the line
// breaks before the answer, nobody knows whether it happened: the caller reads the
// rows again.
//
// # Notifications
//
// pending_tx_new and pending_tx_update carry keys only, pending_intent an account
// that has something to do. They wake; what they say is read from the tables, and a
// poll finds what they missed.
//
// Sources: requirements S20, S23–S26.
package pgstore
