// Package roles is the service of [[roles]]. While this node leads, a role runs a command
// under a keeper, calls another program, writes lines to the log, or only keeps its gate for
// callers.
//
//	config.go        the table [[roles]]: keys and faults
//	service.go       the work of each kind of role
//	commandline.go   splits a command that is written as one string
//	command_unix.go  a process tree under a keeper
//	callback.go      POST …/start and …/stop
//	compaction.go    has the services delete old rows, or move them out of the way
//	aggregation.go   writes down figures of the whole cluster, which the services read
//
// # What can fail, and what happens
//
// When a command ends, or a callback is not acknowledged, the term ends, and the node pauses
// before it campaigns for the role again. A stop that is not acknowledged is repeated as long
// as the node runs; until it is, the term is not released. What a built-in role cannot read or write is logged and tried
// again, and keeps it from nothing else.
//
// Requirements F1–F7, F11, S15.
package roles
