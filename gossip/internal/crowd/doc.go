// Package crowd runs nodes that suggest a leader by gossip in a deterministic world of faults, and reports what broke.
//
//	report := crowd.Run(crowd.Config{Nodes: 500, Seed: 42})
//
// Under test is the production code: each node has the [core.Core] that an agent runs, and all that they say travels as
// bytes. The loop around it, the network and the clocks are simulated.
//
// # The world
//
// Clocks begin hours apart and run up to a fifth too fast or too slow. Messages take up to a fifth of a round, get lost,
// or stall: what is lost on a connection comes after two rounds, or six, or fourteen, with all that was sent meanwhile.
// Nodes die and start again, hear nobody, are heard by nobody, are frozen and go on with their old state, are cut off
// alone or with others; links work in one direction; users withdraw their leaders. A round is 100 ms of true time, and
// all figures are in such rounds.
//
// # Connections
//
// The overlay says who is connected with whom, and electors keep a connection to each other besides. A connection takes six
// messages to make. A process accepts as package mtls does: so many that are not proven yet at a time, and others wait; each
// takes it 0.3 ms, as with four processors. A process that dies says so at once, unless its host dies with it: its peers then
// notice the silence after four or five seconds, as they do when the network is cut or a process is frozen. A dial that nobody
// answers is repeated after one second and after three, and fails after five. What reaches a frozen process waits for it.
//
// # Time
//
// A process wakes when its core is due. A second is ten rounds with electors and in policy paper. Where everybody may lead a
// beat comes each second, and a round is one: there the clocks run ten times as fast.
//
// All nodes have the same contacts, three if nothing else is said. The overlay grows before the crowd begins, and no figure
// counts that; in scene boot both begin at once.
//
// Scenes are worlds with one trouble each; the others have every fault, and then a calm in which all must agree.
//
// # Invariants
//
//	agreement     after the faults all believe in one leader, which leads, and in no dead one. Where connections stall a node names
//	              nobody now and then: there, all agree once, and again within 30 rounds
//	no-needless   no reign is raised while a leader works that can be heard. Without electors this does not hold where the
//	              crowd was parted: each side names its own leader. Where connections stall for so long that nothing of the
//	              leader has come to a node for half a validity, nobody could tell whether it lives: such reigns are
//	              counted among the needless ones, and as stalled_reigns besides, and break nothing
//	one-leader    with electors never two are believed in for longer than a heartbeat is valid, by the slowest clock there is: by the
//	              electors' views for a validity, by those of all nodes for ten, since the crowd hears a tenth of the
//	              heartbeats. Dead leaders count too, and so does a leader by its own view alone; unless two electors are
//	              heard by nobody, since nobody can tell those
//	one-piece     a minute after the faults the living nodes are in one piece
//	once-heard    a piece of news is told once; all-hear: to everybody
//	passed-once   a node passes each heartbeat on once, in crowds of up to 200: what is passed on twice at each node never ends
//	no-storm      within ten rounds there are three times as many messages as at rest at most, and ten more for each node, whatever happens
//	well-formed   what is sent can be read
//	bad-refused   what is wrong is refused and named, and nobody believes it
//
// Policy paper promises none of them: its runs are measured.
//
// # Broken rules
//
// [Config].Break leaves out one rule of the design; [Simulator] has them, with the invariant that falls. The world breaks two of them; the
// others fall in a build by package patched, since a machine has no switch for them.
package crowd
