// Package crowd runs nodes that suggest a leader by gossip in a deterministic world of faults, and reports what broke.
//
//	report := crowd.Run(crowd.Config{Nodes: 500, Seed: 42})
//
// Under test is the production code: each node has a [gossip.Machine], and in small crowds its parcels travel as bytes.
// The loop, the network and the clocks are simulated. The nodes are linked at random, each with about 2 (Hₙ − ½) others,
// as the overlay links them; a node whose neighbours die looks for others.
//
// # The world
//
// Clocks begin hours apart and run up to a fifth too fast or too slow. Messages take up to a fifth of a round, get lost,
// or stall: what is lost on a connection comes after two rounds, or six, or fourteen, with all that was sent meanwhile.
// Nodes die and start again, hear nobody, are heard by nobody, are frozen and go on with their old state, are cut off
// alone or with others; links work in one direction; users withdraw their leaders. A round is 100 ms of true time, and
// all figures are in such rounds.
//
// [Scenes] are worlds with one trouble each; the others have every fault, and then a calm in which all must agree.
//
// # Invariants
//
//	agreement     after the faults all believe in one leader, which leads, and in no dead one
//	no-needless   no reign is raised while a leader works that can be heard. Without electors this does not hold where the
//	              crowd was parted: each side names its own leader
//	one-leader    with electors never two lead for longer than a heartbeat is valid, by the slowest clock
//	once-heard    a piece of news is told once; all-hear: to everybody
//	well-formed   what is sent can be read
//	bad-refused   what is wrong is refused and named, and nobody believes it
//
// Policy paper promises none of them: its runs are measured.
//
// # Broken rules
//
// [Config].Break leaves out one rule of the design; [Rules] lists them, with the invariant that falls.
package crowd
