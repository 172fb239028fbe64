// Package arch checks the rules of the repository that the compiler cannot see: the
// walls of the house. A room is a package with its subpackages, a floor is a level of
// the import graph, a wing is a room of the library that works alone.
//
// It contains only tests. They read the whole tree (the packages of every module in
// go.work, their go.mod files and the text of every source file) and report each
// breach of a wall. Each wall is an entry in a table, with a sentence that says why it
// stands and with fabricated houses that break it: a test shows that the wall detects
// each of them, since a guard that cannot fail is no guard.
//
// To add a room, add it to its floor in floors_test.go; to use a new library, give it
// a room in libraries_test.go. Both tables already name the planned wings, which have no
// folder yet.
package arch
