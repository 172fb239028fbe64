// Package pgstore is the authority of a log whose entries a Postgres database decides on, for those who have one. The
// leadership of an election in the same database fences every append (conch.fence), so the members need no majority.
//
//	db, err := pgstore.Open(ctx, pgstore.Connection{URL: …}, 2)
//	err = db.Create(ctx, genesis, "log:flags")           // once, by a person
//	m, err := db.Member(ctx, pgstore.Config{Self: "a", Log: genesis.ID(), New: kv.New})
//	go m.Run(ctx)                                        // on every node
//	err = m.Lead(ctx, token)                             // as long as this node leads the scope
//	answer, err := m.Goal(ctx, "order 7", goal, 0)
//
// A [Member] has a copy of the log in memory, made of all its entries. [Member.Query] answers from it, [Member.Fresh] with everything that was
// acknowledged before. Nobody performs what goals ask for outside of the log (txlog.Effect): a state machine that has effects needs package quorum.
//
// # Terms
//
// The term of the log is the epoch of the scope. Who leads comes from outside: the node passes the token of its leadership to Lead. A token
// leads once: if the log has an entry of its epoch or a later one, Lead refuses.
//
//	following ──Lead──▶ reading all, fenced ──▶ Leads ──▶ leading ──▶ Deposed ──▶ following
//	    ▲                        │                            yields, CN001, or an entry of somebody else
//	    └──── CN001, ErrSpent ◀──┘
//
// The mint of a token waits for the transactions that the token before has fenced. So a new leader that has read everything
// misses nothing, and nothing comes after from an earlier one.
//
// # Entries
//
// An append is an INSERT of the next indices, of all that wait, in one round trip and one transaction, whose first statement
// is the fence. It is told as Stored and Committed when the commit is known. If there is no answer, or the server warns that it
// has stopped waiting for its standby, nobody knows: the same is written again, which waits for the first try if that is
// under way, does nothing if it is stored, and whose commit is behind the first one's. Nothing is told before.
//
// A follower hears of entries by a notification on the channel conch_log, looks every second too, and reads on from the last
// index that it knows. Stored and Committed come together, and nothing that was stored is ever replaced or dropped. If
// commits wait for a standby, a read that has found something commits too: else it might tell of an entry whose leader was
// never told, and that a failover takes back.
//
// Confirm reads the newest index at the primary, with such a commit. It works on every node.
//
// # What can fail
//
//   - fence.ErrStale, [ErrTaken]: somebody else leads, or has written to the table. Deposed is told, and Lead returns.
//   - [ErrScope]: the log is another scope's, or not there.
//   - [ErrForked]: the database does not have what this node was told to be committed. It was restored, or a standby that had
//     not received it was promoted: without synchronous replication, a failover loses what it had not. Run returns; the
//     node keeps its copy as evidence, and never rewinds it.
//   - [ErrDamaged]: a row is not what was written. Run returns.
//   - Everything else is tried again, and told to Trouble: a lost connection, a standby ([ErrStandby]), missing tables or
//     rights. A read of a user that fails is not answered, and the user asks again.
//
// Nobody looks before an entry is stored: the database stores what the leader says. A member whose state comes out otherwise
// (txlog.ErrState) finds that out only when the entry is committed. It stops and says so, since it cannot know whose memory is
// wrong; a majority of members cannot keep such an entry out, as it does with package quorum.
//
// # What grows
//
// A log keeps all its entries: a new node reads it from the beginning, or takes a snapshot from another one.
//
// Sources: document 003; requirements B8, B9, B11, B13, B15, V1, V2; S15 for the fence.
package pgstore
