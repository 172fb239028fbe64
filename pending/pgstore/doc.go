// Package pgstore keeps intents and pending transactions in Postgres, in the schema
// conch, beside the leadership whose token fences every write.
//
// # Tables
//
//	intents               what shall be done, accepted by any node
//	pending_transactions  a slot: account, nonce, its intent, the hash that counts, its state
//	pending_attempts      the signed bytes, stored before they may leave
//	pending_accounts      an account's scope, and the database history it was last worked on in
//	archived_…            what was finished for long, of the first three
//
// # A write
//
// One round trip: all statements of a batch and, last, conch.fence with the leader's
// token, in one implicit transaction. A stale token undoes all of it. When the line
// breaks before the answer, nobody knows whether it happened: the caller reads the
// rows again. Nor when the server warns that it has stopped waiting for its standby.
// How long a commit waits is said in each transaction: it may be set to anything.
//
// # An intent
//
// Callers that come at once share a statement and its commit.
//
// # A long history
//
// Whatever a leader asks for has an index over what is open alone. Finished rows can be
// moved to the archive; IDs and keys are looked for there too.
//
// # Who reads
//
// Callers look transactions up over connections of their own, a few: none of them keeps
// a leader from writing.
//
// # Notifications
//
// pending_tx_new and pending_tx_update carry keys only, pending_intent an account
// that has something to do. They wake; what they say is read from the tables, and a
// poll finds what they missed.
//
// Sources: requirements S20, S23–S26.
package pgstore
