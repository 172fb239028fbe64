// Package step drives a pure core in real time. A core takes the time and an input and returns what is to be done; a shell
// does it, and what comes of it is an input again. The core is fed by a [Loop] here, and by a simulated world elsewhere.
//
// # Rules of every loop
//
//  1. The end comes first. When the context has ended nothing is fed any more, however much waits. A step that is under way
//     is not cut short: what it waits for, as a write, has the context from its shell.
//  2. Then comes what this process has put into the [Inbox], in its order; then what others have sent, at most
//     [MostAtOnce] messages; then the time. What was said before a deadline passed may be what the core would miss.
//  3. After each batch the loop looks whether the core is due. So no flood of inputs stops the time.
//  4. Nobody who puts an input waits for the loop, and the loop waits for nobody but its shell. Acts that take time have a
//     goroutine of their own, which the shell waits for before it returns.
//  5. An answer that comes after the end is dropped: [Inbox.Put] says so, and [Inbox.Close] returns what was not fed, for the
//     sake of what has to be closed.
//  6. What a core asks for is done in the order of [Output]: gives, writes, acts.
//
// A shell ends in this order: Run returns, the context of its acts is cancelled, its goroutines end, the inbox is closed.
package step
