// Package founding has what nodes say to each other about how a log begins, and who its members are to be. A program needs it that makes logs
// with nodes of other people; one that knows how its log began needs a [txlog.Genesis] and nothing of this.
//
//	Prepare, Prepared     the making of a log: a node draws its store
//	Begin, Begun          and keeps the genesis
//	Seek, Known           a node asks how a log began
//	Appoint, Appointed    other members, by the leader
//
// They travel on the line of the log, beside what package quorum says there: the program that reads the line takes what [Is] one of these, and
// gives the rest to its host. [Encode] and [Decode] are functions of their arguments alone. A peer may send anything: Decode refuses it, never
// panics, and takes memory by the length of the bytes. Whom a node believes, and for whom it does what is asked, the program says.
package founding
