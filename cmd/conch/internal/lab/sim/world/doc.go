// Package world is a deterministic world of events for simulations: an event queue, a
// seeded source of random numbers, clocks of different speeds, and a network that
// delays, loses and parts. It knows nothing of the system that is simulated.
//
// # Determinism
//
// There is no goroutine and no real clock. Every event has an instant of true time, no
// two events share an instant (the second is moved by a nanosecond), and all random
// numbers come from one seeded source in the order of the events. So the same seed
// gives the same run, and [World.Hash], which mixes every event and note, proves it. A
// simulation must keep the order too: it must not range over a map if the order of the
// elements matters.
//
// # True time and clocks
//
// [World.Now] is true time; a simulated system must not read it. A [Clock] maps it to
// the reading of one machine: with another origin, a slightly different speed, and
// perhaps a standstill. [Clock.When] maps back, so that a test can compare intervals of
// different clocks in true time and need not sample them.
//
// # Network
//
// A [Network] has directed links between named places, which can be cut. A [Pipe] is
// one direction of a connection: it keeps the order, and is dead once it has lost a
// message. [Network.Tell] sends a datagram, which may overtake others or get lost.
package world
