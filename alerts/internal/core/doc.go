// Package core decides what fires and which receiver is told what, while this process leads. It is pure: [Core.Step] takes the time and an input, and
// returns an [Out]: rows to record under the fence, then messages to send. What it knows is a cache of the rows, and is thrown away whenever nobody knows
// what has become of a write.
//
// A group has a number, which rises with each change that is worth a message. A [Telling] is what one receiver has been told of one group: up to which
// number, and whether anything about that is in doubt. What is to be said follows from the two, never from a queue: so only the newest is ever said.
package core
