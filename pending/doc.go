// Package pending gets transactions from an account into a chain: each intent done
// once, none lost, whatever dies in between.
//
// Any node accepts an [Intent]. The one that leads the account's scope gives it a
// slot, signs, stores, and only then sends:
//
//	accepted ──▶ slot assigned, attempt signed and stored ──▶ sent ──▶ in a block ──▶ final
//	             └── one transaction, fenced by the leader's token
//
// # Words
//
// A slot is one index (nonce) of the account. It has one intent, which never
// changes, and one or more attempts: signed transactions that differ in their fee.
// An attempt that does nothing is a filler.
//
// # Rules
//
//   - Bytes are stored before they can leave. A deposed leader has nothing to send
//     that its successor does not have as well; sending it again is harmless, since the
//     chain takes one transaction a slot. Hence these sends pass the fenced door, and a
//     takeover waits for no clock.
//   - The gate is asked right before each batch leaves (S15).
//   - A write whose answer is missing may have happened: nothing is sent before the
//     rows have been read again.
//   - No answer to a send is unknown, never failed. "Nonce too low" is neither success
//     nor failure: every attempt of the slot is looked up.
//   - An index counts as lost to somebody else's transaction only when that transaction
//     has been seen in a final block. Until then the intent gets no other slot.
//   - The next index never goes down.
//   - A further attempt pays more than the dearest that is stored, sent or not.
//   - Cancelled is said once the filler is final, and not before.
//   - When the database has another history than before, rows may be missing: no index
//     is given away until the chain has finalized all that was ever seen in it.
//
// # What it cannot do
//
// After a database lost committed rows (asynchronous replication, a restore), an
// intent whose slot was lost is done again. "Nothing twice" then needs synchronous
// replication, or a contract that knows intents. A chain that takes back what it had
// finalized can do the same, or leave an intent undone whose slot somebody else then
// used; an alarm says so.
//
// # State
//
// [machine] decides; it is pure, and testdata tells its stories. [Manager] feeds it
// and does what it says. What is stored are facts; a [Status] is derived from them.
//
// Sources: requirements S15, S17–S26, with D5–D7 (docs/requirements.md).
package pending
