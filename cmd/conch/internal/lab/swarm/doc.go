// Package swarm shows gossip and a log without any setup: many agents, each a real process of conch node without a database, name one
// leader and hear the same news, while leaders are killed and the network is cut in two. The electors decide on a log, and some other
// nodes follow it. It is loaded all the while (package goals), and loses leaders and a member's disk; a node joins in the end.
//
//	node ── mutual TLS ──▶ relay ──▶ node        one relay in front of each node (package network)
//	  │                                │
//	  └──── GET /v1/events ──▶ demo ◀──┘         one stream of each node tells what it names and hears
//
// Each node listens at an address of its own and dials from it, 127.B.x.y, and is known to all at that of its relay,
// 127.(B+1).x.y. So a relay knows who dials, and can cut a side off. Where the loopback network has one address only, the
// demo says that it cannot cut, and does the rest.
//
// The supervisor takes no part in what the nodes do. Who is struck follows from a seed ([Plan]). What was seen is a [Record],
// and [Judge] gives the verdict on it; both are pure.
//
//	plan.go       who is struck, and when
//	record.go     what was seen
//	board.go      what each living node names
//	judge.go      the verdict
//	site.go       folders, keys, relays, processes
//	ear.go        what one node tells
//	supervise.go  the loop; strikes.go what it does; view.go what it shows
//	fleetlog.go   what it does to the log; compare.go has conch log verify compare the copies
//
// Nothing is left behind. If the demo is killed, so are the nodes, on Linux, by the parent-death signal.
package swarm
