// Package sender is the owner of intents: it hands each to a coordinator, assembles and grants its attempts, and follows
// it until the ledger has decided.
//
// A [Machine] is one contract's, at one node. It is pure: inputs go in, actions come out. Which ones an intent in some
// state takes is a table ([Diagram] draws it), and every pair of a state and an event is in it.
//
//	storing ─▶ waiting ─▶ delegated ─▶ accepted ─▶ granting ─▶ granted ─▶ noting ─▶ dispatched ─▶ included ─▶ confirming ─▶ confirmed
//	              ▲           └────────────┴────────────┴──────────┘          └──────────┘            │
//	              └──── returned, forgotten, silent, moved ───────── skipped, expired, rewound ───────┘
//	ending ─▶ reverting ─▶ reverted: given up, and told once the ledger has killed every grant
//
// # Rules
//
//   - An intent keeps the sequence with which it was stored, for every attempt, coordinator and start. The ledger takes
//     it once. That alone is "at most once"; all else here is economy, or the truth of what users hear.
//   - It is stored before its user hears that it is accepted, and a grant before it leaves (P28, P38).
//   - A grant is given for an attempt that this start has assembled for the delegation which the intent has now (P30).
//   - While a grant may be used, no other attempt is assembled: until its holder says that it has not used it, or the
//     ledger has skipped it, or RegrantAfter is over.
//   - Done is read from the payload hash in the ledger's fact, and told when its block is final. A sequence that landed
//     with another payload is somebody's lost history, and the intent has failed.
//   - Reverted is told if no grant ever left, or if the ledger has killed all of them, read in one final block. No word
//     of a member kills one. Nor does a member's word say which attempt creates a state that a grant needs: with a false
//     one the ledger would be read as if it had killed the grant. A creator counts if the node's own book knows it. What
//     a state has is taken from the own book too, where that knows it.
//   - Rows may be missing that were written before this start (a restore, a standby). An intent of an earlier start is
//     Reverted when every grant of that time is over, known or not: the block Load.Head + Life + Depth is final. Depth
//     is in it since the head may have been higher before a reorganisation.
//   - Failures have kinds. What can never be carried out ends at once. A conflict is not counted. Anything else is
//     counted in the store, over all coordinators and starts, each attempt once, and the third ends the intent (D20).
//     That the members refuse it is a coordinator's word, and counts as such a failure.
//   - What a stranger can put on the ledger counts for nothing. With a copied entry it makes facts that say Expired, Not
//     granted or Repeated; those move no intent. A dispatched intent moves when its own attempt is skipped for a state
//     or for its endorsements, or when its grant's last block is behind the head.
//   - Within a delegation intents are offered in the order of their submission, each once; what comes back goes out
//     under another delegation (I4). One Delegate of a delegation is unanswered at a time, so that none overtakes. So
//     what is submitted meanwhile goes out together.
//
// # Whom it delegates to
//
// The first of the own range's order that is not left out. A node is left out for 1, 2, 4 … AckTimeouts (at most 30 s)
// when it did not answer, refused, fell silent, or said for MoveAfter that it is behind or busy (for 5 × MoveAfter that
// this node is behind: a node that lies would starve it). An answer or a request of it ends that, and so does a beat
// with intents of this node: they show that it hears. A beat without ends the first pause alone, since with one cut
// direction it says nothing. What it returns goes back to it 0.1 s later at the earliest.
//
// A coordinator whose digest differs is asked for its list. While intents come and go the digests never agree, so each
// list that shows nothing new doubles the pause to the next, up to 30 s; equal digests end that.
//
// # Duties of the caller
//
//   - Machines are fed by one goroutine, with a clock that never goes back. While not [Machine.Idle], Tick comes about
//     every 50 ms, after the messages that wait to be read.
//   - An answer goes to the machine that has asked: a Rejected does not show whether it answers a sender or a coordinator.
//   - Load.Head is the ledger's head at the start, asked of all endpoints. After New, blocks come from Load.Final + 1 on,
//     in order and without a gap; a Rewind comes before the blocks that replace others, never for more than Depth.
//   - The book is fed with a block before the machine is.
//   - Each Store is one transaction, Stores are committed in their order, and Stored comes once for each. A Store fails
//     for ever once a later start has read the rows (a fence): else a process that was frozen goes on with what it had,
//     and tells Reverted of an intent that the later one has granted. If the outcome
//     of a commit is unknown, the caller reads before it says so; until then the machine waits.
//   - A key that has a row already makes no second: then Twice comes before Stored, and the caller tells the user what
//     the first row says.
//   - Each Judge is answered once, with [Question.Read] in one final block. A failed read is repeated.
//   - Grants that leave with Why Done are signed; the machine makes the same grant again for a repeated request.
//   - Members are known by their accounts: From is who the transport says it is.
//   - Incarnation and Lineage are drawn at random for each start (in a pair, for each mint). Secret stays in the node.
//
// # What can fail
//
//   - The coordinator does not answer: the next in order is asked, and the first left out for 1, 2, 4 … AckTimeouts.
//   - It is silent, or forgot (a beat's digest differs from what it should have): its intents without a dispatch move.
//   - A crash: what was not stored was not told; intents are delegated afresh, stored grants sent again, and what is
//     dispatched waits for the ledger (P39, P42).
//   - A restore: grants that were forgotten may still land. The user hears the truth of the ledger, later. What was told
//     and then lost in the restore is not undone: an intent may be Reverted in the lost rows and land.
//   - The chain stands still while intents wait for it, or have a deadline: Nudge asks for an empty transaction, after
//     NudgeAfter, then after twice as long each time, up to 30 s (D19).
//   - A coordinator leaves an intent alone that could be carried out by the ledger's own states: after Patience, and some blocks, all
//     that it has move. Or it says that it has dispatched, and nothing lands by it for the life of a grant. It is left
//     out for 2, 4, 8 … times as long, or until something lands; then what others were given goes back, MoveAfter later.
//   - Rules that panic: a failure of the attempt, counted as one.
//
// Sources: document 002; requirements P28–P31, P34–P42, I1, I2, I4, I5, I10; D17 to D20.
package sender
