// Package book is what a node knows of a contract's states: those that are there, and those that attempts on their way
// would create.
//
// The ledger has names and commitments only. The contents come from members, with attempts, at any time: before an
// attempt lands, long after, or never. A [Book] joins the two. It is told what it hears ([Book.Hear]) and what the
// ledger did ([Book.Block], [Book.Rewind]), and is always the same as if all had been known from the beginning:
//
//   - A state is there if an attempt that has landed creates it, that attempt is known, and no attempt that is known and
//     has landed spends it.
//   - An attempt that has landed and is not known is [Book.Missing]. Until it is heard, what it spends still seems to be
//     there. That costs a skipped entry and no more: the ledger alone is safe.
//   - A state that was spent before its creator was heard never appears.
//
// # Memory
//
// An attempt that has not landed is forgotten Life + Depth blocks after it was last heard: its grants are over by then.
// Of more than Most such attempts, or more than MostBytes of them, those heard longest ago go first. One that has landed
// is forgotten when its block is final, and only its unspent states stay, with their number for each attempt: at 0 the store may
// forget its contents. What is missing stays too, until it is heard or given up ([Book.Forgo]).
//
// # The store
//
// [Book.Final] says what became final since it was last asked, for the node to store; [Book.Load] begins with what was
// stored. Blocks above the final one are read again from the ledger. What has not landed is heard again, or never.
//
// What is heard after it was final is in doubt until the ledger has said what is left of it ([Book.Vouch]): somebody may have spent
// it whose contents were given up. The store has it as missing until then, beside its states.
//
// # Overlays
//
// An [Overlay] is a view with some states hidden and others added, such as those that attempts in flight spend and
// create. Making one costs nothing, and neither does an intent that is assembled on it, however many states there are.
//
// A book is a pure machine and not safe for concurrent use: the node feeds it, and the machines of the contract read it
// in the same goroutine.
//
// Sources: document 002; requirements P12, P17, P36.
package book
