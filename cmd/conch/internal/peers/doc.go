// Package peers is [identity] and [[peers]]: who this node is among others, and who they are. Services whose nodes talk
// with each other read them from here ([Of]), so that there is one reader, and one set of faults. It knows no service:
// whether a configuration has to have the two tables, the sections of services say (see [User]).
//
//	section.go  the tables: keys and faults
//	kind.go     their part of a node: files that cannot be read
//	meet.go     connects to a peer, as far as it shows its key
//	doctor.go   what conch doctor says about both
//
// Requirements I9, I10.
package peers
