// Package hook tells receivers of the events of intents, by POSTs that are signed as Standard Webhooks 1.0 says.
//
// A [Deliverer] serves one receiver while this process leads the role of deliveries. Its machine is pure: it is given what the store has
// read, what a receiver has answered and the time, and says what to post and what to note. The store has a place for each receiver: every
// event up to it is done there, which means confirmed, not asked for, or a row of those that wait.
//
//   - Events of one intent are told in turn: none leaves before it is stored what became of the one before it. So what comes twice is the
//     last one of its intent. Intents are told of side by side, [Places] at once, and those that have ended before the others.
//   - An event that is refused waits in the store, with a growing pause, and those of its intent behind it. After [GiveUp] it is dead: it
//     stays in the store, and others pass it.
//   - A receiver that refuses everything is probed, at most once a minute, with another intent each time. Its events stay where they are,
//     and the place with them, so neither memory nor a table grows; after [GiveUp] the oldest are dead.
//
// # What can fail, and what happens
//
// A leader that dies after a POST and before its note is followed by one that tells the same event again, with the same webhook-id. A write
// that has no answer is repeated: it says how things are, and not what has changed. Each write of a POST is an act of the gate, which
// a handover waits for, and is cut off when the gate's answer ends, until there is another; a process that is frozen while it sends may still tell an old event after its successor has told a newer one;
// receivers compare versions.
//
// # What the caller owes
//
// One Deliverer a receiver at a time, under a gate whose act door is open; a store whose writes are fenced by the same token; and
// [Deliverer.Wake] when there may be events, without which they are looked for every few seconds.
package hook
