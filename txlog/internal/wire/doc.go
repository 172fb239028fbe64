// Package wire has the messages between the nodes of a log, and their bytes.
//
//	Quorum                  between the authorities of two members; package majority reads what is in it
//	GoalSent, GoalDone      a goal on its way to the leader, and what became of it
//	Confirm, Confirmed      up to where a read must have come to see everything that was acknowledged
//	Pull, History           records, heads and bridges, as package follower has them
//	Want, Piece             a snapshot in pieces
//	Admit                   a node with a new store asks to be a member
//	Twin                    another process with its name and key is a member that is heard
//
// How a log begins nodes say in the same encoding: package founding, which has Seal and Open from here.
//
// [Encode] and [Decode] are functions of their argument alone, safe for concurrent use. A peer may send anything: Decode refuses it
// with [ErrMalformed], [ErrSize] or [ErrVersion], never panics, and takes memory by the length of the bytes. Records and
// heads are well formed after it, and nothing more: whether they belong to the log, and who has signed them, is for
// package follower. Each message names its log, since a namespace may have had another one.
//
// Sources: document 003; requirements B8, B9, B13, V1, V8.
package wire
