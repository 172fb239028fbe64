// Package watch is what each node watches for itself, since no leader can tell it: that the database cannot be asked, and that it can, but nobody
// evaluates. It is pure: [Machine.Step] takes the time and an input, and returns what is to be done.
//
// It only tells that something is wrong. That it is over the leader of package core tells, and nobody else.
package watch
