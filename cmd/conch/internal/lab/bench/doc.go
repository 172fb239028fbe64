// Package bench measures conch, each figure beside the raw ceiling of the same run: what the clock,
// the lock or the transaction costs without conch, measured in turn with it. A figure alone says
// more about the machine than about conch.
//
//	gate      asking the gate, beside reading the clock
//	fence     transactions with conch.fence(), beside the same without
//	election  from a fault to the successor's act, beside a plain advisory lock
//	pending   from an intent into a block, beside the node fed with signed bytes
//	files     files put to three nodes, beside a plain server that writes three copies
//	sequencer payments of a private contract, beside the signatures alone that they cost, and beside pending landing them
//	gossip    a crowd of agents, beside as many members of memberlist and serf
//	log       goals of five members, beside the bare raft core on the same kind of files, and etcd
//	schedule  crons and jobs, beside a River with the same jobs in the same database
//	ui        the page of a node, beside what was asked for: its weight, how soon it shows a change, and what it takes of browser, node and line
//
// Leaders are separate processes (package worker), which the bench kills, stops and cuts off. The
// server is a private one on a disk, with fsync on, or the caller's, where the bench creates a
// database and drops it.
//
// Instants are readings of one machine's CLOCK_BOOTTIME: of a fault in this process, of an act in
// the process that acted.
package bench
