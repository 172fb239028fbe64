// Package courier brings the goals that users of one node ask for to the leader of a log, whoever that is, and their
// answers back. A [Machine] is pure: inputs go in, actions come out.
package courier
