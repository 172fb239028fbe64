// Package world is a deterministic world of events for simulations: an event queue, a
// seeded source of random numbers, clocks of different speeds, and a network that
// delays, loses and parts; and the frame of what runs such worlds. It knows nothing of the system
// that is simulated.
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
// message. [Network.Tell] sends a datagram, which may overtake others or get lost. A [Stream]
// says when a message arrives where what is lost is sent again, and holds up all after it.
//
// # Simulators
//
// A [Simulator] is a kind of world, with a configuration of its own: its command, its flags, the
// [Rule]s that a run can leave out, and its [Scene]s, of which some are stories. Rules and scenes
// have configurations too, from which [Simulator.Fill] takes what a user leaves out. A world
// embeds the [Run] of [Simulator.Begin], which collects what did not hold and the figures, and
// makes the [Report], and is most of what a story needs of its world. The line that repeats a run is made of the flags.
//
// # Add a world
//
// A folder beside the core in the folder internal of its wing. If the wing keeps its state in a database, and one process leads, its world is
// mostly there: package site has the processes, the database, who leads, and what goes wrong with them, in stories too. Read belfry of the schedule,
// which stands on it; electorate of the election and committee of the sequencer have networks of their own instead.
//
//   - simulator.go: Config with Nodes, Seed, Break, Scene, Trace, Story and Telling, as in [Common], and what this world has
//     besides; 0 is a default. The [Simulator] with the texts of the command, a flag for each field, and the lists below. A line in
//     lab/sim.go makes it a command.
//   - run.go: a run, which embeds the Site, or the [Run] of [Simulator.Begin]: it starts the nodes, begins the plot of the scene or every fault,
//     lets time pass, then ends the faults and judges the end.
//   - node.go: a process, which feeds the core with what arrives and with the time, and performs its Output in its order. A
//     decision here is a fault, since it does not ship. What a story does to it is a story.Node.
//   - judge.go: what is checked after each event that could break it, and shares no code with the core.
//   - faults.go, scenes.go: what else goes wrong at random, and worlds with one trouble.
//   - story.go: the settings of its stories, and a stage: a run that a text of package story drives, with what it may
//     say of this world alone. Texts that it brings along are in testdata/stories.
//   - rules.go: the invariants, each with a comment that says it, and the rules that a run can leave out. What the world cannot break needs a
//     diff in package patched.
//   - the tests of package worldtest: Seeds, Texts, Rules (each is needed), Equal (the same seed is the same run).
//
// Worlds run without the race detector by day (WORLDS in the Makefile).
package world
