// Package node runs the daemon. It makes a node from a configuration and a list of services.
//
//	err := node.Run(ctx, node.Options{Config: cfg, Load: load, Log: log, Kinds: kinds, …})
//
// # What a node is made of
//
//	electorSet  electors over one mint, one for each group of roles with equal settings
//	standalone  replaces the electorSet on a standalone node
//	noRoles     replaces it on a node that has neither roles nor a database
//	services    what roles do while they lead, and their part of API and metrics
//	obey        drains and transfers that operators ask for in the database
//	site        the API, and the ops handler
//	metric      counters and states of each scope, for /metrics
//	datadir     where a reload finds the process
//
// Run assigns the roles of the configuration to the electorSet. It starts an elector for each group
// of roles and adds each role with its work, which a service has made. The elector calls the work
// in each term. Work that returns a [FinalError] ends the node, and Run returns its result.
//
// Instructions go down, facts come up as values. The frame knows no service, and no service
// knows another: each is a [Kind] in the program's list. conch run is a node too, with one
// role and no listener; its only kind is the command that it was given.
//
// # Shutdown
//
// A node that is asked to end shuts every gate, ends the roles, waits for them, releases,
// notifies and unlocks. It serves the API until then, so that a caller that asks a gate is
// told "no". Told to hurry, it kills commands at once and stops waiting for callbacks. It does
// not release the scope of a role that has not ended, so the successor waits.
//
// # Reload
//
// Tokens and certificates are read again, new roles start, removed roles are drained, and a
// changed role changes with its next term. A file with a fault changes nothing. The result
// and the log name the keys that need a restart.
//
// Requirements S17–S22, S27–S33, F1–F7, F10.
//
// # Add a service
//
//  1. A folder in cmd/conch/internal/service with a function Kind that returns a [Kind]. nodetest/service.go is a whole one: its
//     table in the file, a role, a documented route, a metric and a finding for conch doctor.
//  2. A line in service.go there, and in service_noevm.go if it needs nothing of go-ethereum. Its commands are a second line.
//  3. If each node has work, whether it leads something or not, its section is a config.Everywhere; if nodes of it talk with
//     each other, a peers.User, and peers.Of says who they are. A flag of conch status is a cli.View.
//     What its tables keep for too long is for a [Compactor], and what the database says of the whole cluster for [Measured].
//  4. Tests: web/webtest compares its answers with its part of the API document, config/configtest reads its table, nodetest
//     waits for its log.
//  5. Package arch refuses a frame that knows the service, and a service that knows another.
package node
