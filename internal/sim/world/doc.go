// Package world is a deterministic world of events for simulations: a queue, a
// seeded source of chance, clocks that run at different speeds, and a network
// that delays, loses and parts. It knows nothing of what is simulated.
//
// # Determinism
//
// There is no goroutine and no real clock. Everything that happens is an event
// at an instant of true time, no two events share an instant (one that would is
// moved on by a nanosecond), and all chance comes from one seeded source in the
// order of the events. So the same seed gives the same run, and [World.Hash],
// which mixes every event and note, is the proof. Whoever uses the world must
// keep the order too: no ranging over maps where it can be seen.
//
// # True time and clocks
//
// [World.Now] is true time; nothing that is simulated may read it. A [Clock] maps
// it to what one machine reads: another origin, a slightly different speed,
// perhaps a clock that stands still for a while. [Clock.When] maps back, which is
// how intervals on different machines' clocks are compared in true time rather
// than sampled.
//
// # Network
//
// A [Network] has directed links between named places, which can be cut. A [Pipe]
// is one direction of a connection: in order, and dead for good once it has lost
// a piece. [Network.Tell] sends a datagram: it may overtake and get lost.
package world
