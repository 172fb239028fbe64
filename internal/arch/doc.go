// Package arch keeps the walls of the house.
//
// It holds no code that runs: its tests read the whole tree (the packages of
// every module in go.work, their go.mod files and the text of every source
// file) and complain about whatever breaks a rule that the compiler cannot
// see. Each wall is one entry in a table, with a sentence that says why it
// stands, and carries fabricated houses that break it: a guard that cannot
// fail is no guard, so the tests first watch it fail and only then believe it.
//
// To add a room, put it on its floor in floors_test.go; to use a new library,
// give it a room in libraries_test.go. Both tables already name the wings that
// are planned and not there yet.
package arch
