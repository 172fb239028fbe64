// Package files is the service of [[files]]: the node that leads a scope takes writes and
// pushes them to followers, and every node serves what it holds.
//
//	config.go   the table [[files]]: keys and faults
//	service.go  the service, and the work of its roles
//	cabinet.go  the folders of this node, led here or followed
//	api.go      /v1/files for callers, /v1/sync for the other nodes
//	metrics.go  conch_files*
//
// # What can fail, and what happens
//
// A follower that cannot be reached is tried for as long as the term lasts, and said so
// once in a while. A write that too few followers hold is answered as unconfirmed: it may
// survive. A push of an earlier epoch is refused by the follower, which has promised so.
//
// Requirements S19, S22.
package files
