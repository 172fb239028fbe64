// Package pgstore keeps what a node of the sequencer has stored in Postgres. Its tables are in the schema conch, beside
// the leadership whose token fences every write.
//
//	db, err := pgstore.Open(ctx, pgstore.Connection{URL: url}, 3) // `conch migrate up` makes the tables
//	store, err := db.Begin(ctx, token) // at each start, before anything is loaded
//	node, err := sequencer.New(sequencer.Config{Store: store, …})
//
// # Tables
//
//	sequencer_nodes       a node by its scope: which start it is in, and the last write of that
//	sequencer_contracts   whose a contract's rows are, and the last final block of its book
//	sequencer_intents     intents of its users, their marks, and how they ended     as owner
//	sequencer_grants      grants that may have left, by the order of their storing  as owner
//	sequencer_dispatches  dispatches that the ledger has not decided                as coordinator
//	sequencer_states      the states of the last final block, with their data       as member
//	sequencer_missing     attempts that have landed and whose contents are unknown  as member
//	sequencer_early       states that are spent, and whose creator is unknown       as member
//	sequencer_attempts    contents: of the grants, the dispatches, and of what has landed
//
// Nothing else is stored (P41). Contents have a table of their own, since an attempt that is granted, dispatched and
// landed would be written three times: its hash says what it is, so it is written once.
//
// # Starts
//
// An organisation may run its node as a pair, behind an election of its own. The one that leads calls [Database.Begin] with
// its token, and loads. Three things keep a node that has lost the leadership, or was stopped, from writing:
//
//   - conch.fence refuses its token once another one is minted.
//   - Begin takes the next number of a start, and waits for a write that is under way. Writes of an earlier start
//     fail then, also under the same token: what was loaded stays true.
//   - Writes of a start are numbered. One that got no answer may still be under way in the server; once its repetition
//     is stored it is refused, so it undoes nothing that came after.
//
// What a node without the leadership reads does no harm. It signs no grant, since the row of it is not stored (P38).
//
// # Writes
//
// A write is one round trip and one transaction. All changes that wait are summed up first: a thousand of them have the
// statements of one, and a statement has any number of rows. Every commit waits for the disk and the standby, whatever
// the setting of synchronous_commit.
//
// If there is no answer, or the server warns that it has stopped waiting for its standby, the write may have happened.
// The node writes the same again, which changes nothing, and whose commit is behind the first one's in the log: with the
// second answer both are durable, since every write changes the row of its node.
//
// So each crash point of the document is before or after a commit of one of these rows: an intent (1S before its grant),
// a grant (2S), its mark as dispatched (3S), a dispatch (1C before it, 2C after), its note (3C).
//
// # What can fail
//
//   - fence.ErrStale, [ErrLate]: this start is over.
//   - [ErrTaken]: a node with another scope has rows of this contract here.
//   - Both are sequencer.ErrOver, after which the node stops.
//   - Everything else is an error of the connection or the server, and is tried again. No text of a user, a rule or a
//     member can make it fail: what they say is stored as bytes, and keys are found by their hash.
//
// # What grows
//
// Intents, their grants and all contents stay until [Store.Trim] forgets them: an intent that has ended with its key and its
// grants, and contents that nobody needs since a time that their row has. It is a function with its owner's rights, so a node has
// no right to delete what is open. A start reads what is open, by an index over that alone, and what is forgotten is found by one
// too. The other tables have what is open, and the states that are there.
//
// Sources: document 002; requirements P28, P38 to P42.
package pgstore
