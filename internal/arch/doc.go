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
//
// # Add a wing
//
// In brackets is where the log has it. The names matter: tests, conch-lab sim and readers look for them.
//
//  1. Words: a folder at the root (txlog). Write doc.go first: what it is, its words, its rules, what can fail and what happens,
//     what the caller owes. An actor takes a fence.Gate and knows nothing of elections.
//  2. Core: each machine.go is pure, with its stories in testdata (txlog/internal/member). If there are several, a core joins them
//     (txlog/quorum/internal/core); else the machine is it. Step takes the time and an input, and returns an Output in the order of
//     internal/step; Due says when it wants the time. The loop and the world feed the same one.
//  3. Store: what it needs to keep, in a package without a library, with one in memory (txlog/store), a suite that each passes
//     (txlog/internal/storetest), and each driver in a package of its own (txlog/quorum/disk), with a row in libraries_test.go.
//  4. Service, if nodes offer it: see package node of cmd/conch. World: see package internal/world. The smallest one, in the test of its package
//     site, has eighty lines; the schedule's, with two machines, 14 invariants and 23 rules, has a thousand.
//  5. A place in floors_test.go, among the wings; a row in the map of docs/ARCHITECTURE.md, a line in doc.go of the root, and
//     its promises in docs/guarantees.md, each with the test that shows it.
package arch
