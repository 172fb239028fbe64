// Package gossip is the service of [gossip]: this node is one of an overlay of many, which suggests one leader for each
// namespace and tells all of them the same news. It needs no database and no role. What it names is a hint: it opens no
// gate, and nothing here asks an election for anything.
//
//	config.go    the table: keys and what follows from them; validate.go: faults; restart.go: what a reload cannot change
//	service.go   the service; member.go: the agent and its connections while the node runs
//	agreement.go what has to be the same on all nodes, compared with each neighbour
//	api.go       /v1/nodes; view.go says what answers look like
//	events.go    gossip.leader and gossip.news on /v1/events, and the log; quiet.go: how much of that the log is told
//	twins.go     nodes of which there are two
//	metrics.go   conch_gossip_*
//	command.go   conch status --gossip; doctor.go: conch doctor
//
// # What can fail, and what happens
//
// A node whose peers are away goes on alone: where everybody may lead it names itself, and with electors nobody. It joins
// when one of them is back. A peer with another key, a stranger, and what nobody has signed are refused and counted. If the listener fails the service
// begins again after a pause, and the rest of the node goes on: a hint is no reason to give up a leadership.
//
// Requirements B1 to B7, B21.
package gossip
