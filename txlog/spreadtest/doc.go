// Package spreadtest measures how entries of a log get from a leader to a crowd of followers, in a deterministic world.
//
//	result, err := spreadtest.Run(spreadtest.Config{Loss: 5, Seed: 1}, gossiptest.Grow(5001, 1))
//
// Under test is the production code: each node has a [follower.Machine]. The overlay is given (gossiptest.Grow grows one). The loops, the network, the store and the gossip are simulated.
//
// # The world
//
// A message takes 1 to 20 ms, and longer if its sender's uplink is busy. What is lost on a connection comes after 200 ms, or
// 600, or 1,400, with all that was sent meanwhile: it is a stall, as on TCP. Nothing else goes wrong here: nodes neither die nor
// lie. Each node lets time pass for its machine each 25 ms, by its own phase.
//
// A head travels by gossip: a node passes it on when it first hears it, on all its connections but the one that brought it, and
// tells its machine. The leader says its newest head at most each 50 ms. Whatever is verified is given to others at once; the
// disk of a follower is in nobody's way.
//
// Delays are counted from the commit to the entry's being applied, in means of a link's delay (10.5 ms). Uploads are the
// answers of one node that have one entry in them.
package spreadtest
