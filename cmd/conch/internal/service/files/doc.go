// Package files is the service of [[files]]. The leader of a scope takes writes and pushes
// them to the followers; every node serves the files that it holds.
//
//	config.go   the table [[files]]: keys and faults
//	service.go  the service, and the work of its roles
//	cabinet.go  the folders of this node, one for each scope
//	api.go      /v1/files for callers, /v1/sync for the other nodes
//	overview.go what nodes hold, and a part of a catalog, for people
//	metrics.go  conch_files*
//
// # What can fail, and what happens
//
// The leader retries an unreachable follower for the whole term and logs it at intervals. A
// write that too few followers hold is answered as unconfirmed: it may or may not survive.
// A follower refuses the push of an earlier epoch, since it has promised a later one.
//
// Requirements S19, S22.
package files
