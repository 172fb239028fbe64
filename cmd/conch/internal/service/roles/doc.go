// Package roles is the service of [[roles]]: what a role does while this node leads it is
// a command under a keeper, calls to another program, a line in the log, or nothing, with
// the gate kept for others to ask.
//
//	config.go        the table [[roles]]: keys and faults
//	service.go       the work of each kind of role
//	command_unix.go  a process tree under a keeper
//	callback.go      POST …/start and …/stop
//
// # What can fail, and what happens
//
// A command that ends, or a callback that is not acknowledged, ends its term, and the node
// rests before it campaigns for the role again. A callback whose stop is not acknowledged
// is told again for as long as the node lives: until then nobody is promised that it ended.
//
// Requirements F1–F7, S15.
package roles
