// Package node is the frame of the daemon: it makes a running node of a configuration
// and of services.
//
//	err := node.Run(ctx, node.Options{Config: cfg, Load: load, Log: log, Kinds: kinds, …})
//
// # What a node is made of
//
//	roster    electors, one for each set of roles with equal terms, over one mint
//	alone     instead of them, on a node that is the only copy by its word
//	services  what roles do while they are led, and their part of API and metrics
//	obey      drains and transfers that operators ask for in the database
//	site      the API, and the ops handler
//	metric    what every scope did and does, for /metrics
//	datadir   where a reload finds the process
//
// Instructions go down, facts come up as values. The frame knows no service, and no
// service another: each is a [Kind] in the list of the program. conch run is a node as well,
// of one role and no listener; its only kind is the command that it was given.
//
// # The way down
//
// Asked to end, a node goes down its staircase backwards: it shuts every gate,
// ends the roles, waits for them, releases, notifies and unlocks; and only then
// it stops to answer, so that a caller that asks a gate meanwhile hears no, and not
// nothing. Told to hurry it has commands killed at once and waits no longer for
// callbacks; what has not ended is not released, and a successor waits for it.
//
// # Reading the file again
//
// Tokens and certificates are read again; roles that are new start, roles that are
// gone are drained, and what changed about a role holds from its next term on.
// A file with a fault changes nothing. What cannot change while the process lives
// is named in the answer and in the log.
//
// Requirements S17–S22, S27–S33, F1–F7, F10.
package node
