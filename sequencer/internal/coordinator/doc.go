// Package coordinator has the machine of a node that coordinates a contract: it brings the intents of all members into
// one order, so that they can spend each other's new states before these are on the ledger.
//
// # What it does with an intent
//
// A sender delegates an intent, and the machine takes it (pooled). It asks the sender for an attempt (assembling), then
// the members for their endorsements (endorsing). When nothing else is missing (ready), it asks the sender for the grant
// (granting), stores the row of the dispatch (storing) and hands the entry to the submitter (dispatched). A block
// decides (included); when the block is final, the work is over.
//
//	pooled → assembling → endorsing → ready → granting → storing → dispatched → included → over
//
// What is given up before it is granted goes back to pooled, and with it everything that is built on it, also if another
// owns that. What is given up while its row is being stored goes back to its sender: a handover may have named that attempt,
// and no other one is dispatched here after it. A table says what each event does in each state; [Diagram] draws it.
//
// What is dispatched may be unable to land: a state that it needs was spent by another, what would create it was skipped, or
// the last block of its grant is there. It is doomed then: nothing that it creates is offered any more, what is built on it and
// not handed over is unwound, and what is handed over, or only reads it, is doomed in turn. What it spends stays locked until
// the ledger has skipped it, or its grant is over. All that is on board is judged after each block, after a handover, and
// when what an earlier start has left is judged; what of that is doomed is not submitted again.
//
// # Whose states
//
// Attempts are decided by arrival: the first that comes has the states. A sender that came second has the next turn on
// what became of these states for itself, or a slow one would never land. A sender that does not answer is set aside
// for longer and longer, until it is heard again.
//
// # Who else coordinates
//
// Nobody votes, and several nodes may believe that they coordinate. That costs attempts, which the ledger skips, and
// nothing else. So better coordinators are no reason to refuse work or a request. A node gives its work back when a
// range begins that names another, or when it hears a better one; what its sender cannot hand to the better one it keeps
// for a while. A node that begins to coordinate asks the rest of the committee once for what was dispatched and is not
// decided, and holds its own dispatches until that is in a block, for a time that is bounded. Who has answered
// dispatches nothing any more.
//
// # Duties of the loop
//
//   - The book hears each block and each reorganisation before the machine.
//   - Signatures in Endorsed and Granted are verified before the machine sees them; a bad one is no endorsement and no
//     grant.
//   - The actions of one step are carried out in order. Stored comes when the rows are durable, and not before; if the
//     outcome of a commit is unknown, it is read again first.
//   - Submit is repeated until the submitter has taken the entries. One that it still has is not taken a second time.
//   - Review is answered, after the submissions before it. What is lost by it is submitted again: that is all that a
//     submitter's word does (Q2).
//   - An entry is sent by the account that its grant names.
//
// # What it does not survive
//
// A start forgets everything but the rows (P40, P41): senders see the new incarnation and delegate again. The rows are
// submitted again once the node has followed the ledger to where it is.
//
// Sources: document 002; requirements P7 to P20, P24 to P27, P32, P35 to P41, I4, I5, I6, I8 to I10; D10, D11,
// D17, D18.
package coordinator
