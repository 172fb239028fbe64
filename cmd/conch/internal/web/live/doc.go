// Package live decides what a page is told of the scopes: it turns a reading of the database into rows, says in words how things stand,
// and tells what has changed between two readings. It is pure: the site reads, and asks it.
//
// Words: a reading is what the database said at one instant. A row is one scope in it, with its state. A version counts the readings that
// differed from the one before; a viewer that has the rows of a version needs only those that have changed since.
//
// Requirements F8, S32.
package live
