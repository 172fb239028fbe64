// Package follower keeps a node's copy of a log up to date, verified entry by entry, and gives its history to others. A
// follower's node runs one; so does a member's, which applies by its own machine and is only told (Applied): then it serves,
// and catches up when it is too far behind (Follow, Behind, Yield).
//
// A [Machine] is pure: inputs go in, actions come out.
//
//	                    head, verified                 records up to it
//	idle ◀──────────▶ pulling ──────────────────────▶ applying ─▶ idle
//	  a head is heard    │ ▲  not in time: others, growing pauses
//	                     ▼ │
//	                 fetching a snapshot, in pieces
//
// # Pulling
//
// A head comes by gossip. The node asks the peer that brought it for what it lacks; if records are small, another one too. A peer that is
// asked for what it does not have yet holds the request for two seconds. It answers as soon as it gets it, before its disk has it: so
// entries run behind their head through the crowd, one link's delay a hop. If it gets nothing, it says so, and a
// member says how far the log is, if it would know. What has not come within
// twice the time that answers travel is asked of another peer, then of two, then of three, with growing pauses, until it comes. A young
// entry is given 24 times at most by one node; the others are sent on at once.
//
// # What is applied
//
// Only records whose chain ends at a head that a member has signed. Going back from the head, the hash in each record says which
// one comes before, so the first wrong one names the peer that gave it, which is not asked for a while, each time for longer. The
// copy says which nodes are members, or a [Bridge] does: the record of a change, and a head at or after it by one of the members before. Each
// node keeps a bridge over each change, so that a node from long ago walks from the genesis to the members of now. Members
// sign a head of exactly the change ([Sign]); without it nobody would believe those that are new.
//
// # Rules
//
// Proofs leave each out by its name: a simulated world does, or a patch of the source.
//
//   - committed-only: nothing is applied that no verified head covers; what a leader has signed proves nothing (V6).
//   - never-skip: no timeout advances an index, and nothing is ever given up (B9, B15).
//   - keep-early: what comes before its turn is kept until then, within bounds (V2).
//   - ask-others: what does not come in time is asked of others (B9).
//   - always-serve: a node that waits for something serves what it has (V8); a record has its diff (V1).
//   - own-request: only what was asked for is taken.
//   - members-say: a head is a member's word, or nothing.
//   - deny-lies: a head that says more than the log has counts no more.
//   - ask-to-deny: a head is a lie by what the leader confirms after it was heard, and not by what this node lacks; else honest members are
//     taken for liars.
//   - never-rewind: a head that contradicts the copy is evidence, which is told and kept. The copy stays.
//
// # Duties of the caller
//
//   - One goroutine feeds the machine, with a clock that counts suspended time and never goes back. Tick comes each 25 ms
//     while the copy lacks something (Lacks), and else each 100.
//   - Actions are done in order; what was stored by Apply, Adopt and KeepBridge comes back in Config after a restart.
//   - Heads that the store has with its records go with them (Give): a node that is far behind can then apply what it has, and
//     need not keep all of it until the newest head.
//   - Confirm is asked as a linearizable read is, and only the known leader's word is taken.
//   - Heard.Via is the neighbour that brought the head first.
//
// # What can go wrong
//
//   - Nobody has an entry: the node is Parked, says so, and goes on asking. It serves meanwhile.
//   - The copy does not take an entry that a head covers: Spoiled. It is made anew from the store: at once, and where the same entry
//     does not fit again, after growing pauses, from a second to five minutes.
//   - A member, or a thief of its key, signs a head of what nobody has: the leader, asked after a second (Confirm), denies it
//     (Doubted). Pulling does not wait for that: what comes next is asked for again with each new head.
//   - Members sign two heads that cannot both be true: Evidence. Before either is applied, the branch whose records arrive first
//     is taken. If the log's other branch goes on, the node stays behind, and pulls its entries ever less often.
//   - The snapshot that is fetched is dropped where it was offered: that peer says so, and another snapshot is asked for at once.
//   - A snapshot says nothing of the entries before it: a node on a branch that gets one of another branch does not notice.
//   - A peer floods, or gives what was not asked for, what is wrong, or what no head covers: it is refused and named
//     ([Refused]). It costs a bounded part of memory: 16 heads of strangers, 128 MB of entries, an eighth of the requests that wait.
//   - No head comes: each 30 seconds a peer is asked for news.
//
// Sources: requirements B8, B9, B13 to B15, V1, V2, V6, V8. Package lab/sim/spread of cmd/conch measures how long an entry takes.
package follower
