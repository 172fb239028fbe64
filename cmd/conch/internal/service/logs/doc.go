// Package logs is the service of [[logs]]: this node has a copy of each of these logs on its own disk, and may be one of the
// members that decide what the next entry is. It needs [gossip], whose connections it shares, and no database and no role.
//
//	config.go    the table: keys; validate.go: faults; restart.go: what is read once
//	service.go   the service: a part for each log, from the start of the node to its end
//	part.go   one log on this node: its store, its host, and what becomes of both; store.go opens, and sets aside
//	advice.go    says what is in the way of a log
//	vouch.go     tells gossip whether this node can lead
//	founding.go  how a log begins, between nodes: one draws a store for another, and is told the genesis; learn.go: from what the others
//	             say; ask.go: what this node asks others
//	create.go    makes a log, or asks those that are to be its members for their stores
//	appoint.go   has the leader change the members, for any node that is asked
//	line.go      the line to the other nodes, which comes and goes with the network
//	api.go       /v1/logs; goals.go, reads.go, refusal.go, view.go say what answers look like
//	events.go    log.entry on /v1/events, and the log of the node
//	metrics.go   conch_log_*
//	command.go   conch log
//
// # What can fail, and what happens
//
// A store that is damaged, or has lost what it had promised, is renamed and kept, and the node begins with a new one: it
// fetches the log from the others, and a member asks to be admitted with the new store. Nobody is asked first, since the
// node is of no use until then, and a majority of the other members has to agree. Once five stores are aside it makes no other one before a
// person has taken some of them away. If the disk fails to write, that log is closed on this
// node until its next start: the system may say what the disk does not have, and nobody asks it twice. The node's other logs, and
// everything else on it, go on.
// While the network is away, everything that is here can be read; goals wait, or end unknown.
//
// A node that has no store believes its peers how the log began, if all say the same, unless its configuration names the id.
//
// Requirements B8 to B15, B18, B20, B21, V1 to V8.
package logs
