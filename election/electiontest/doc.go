// Package electiontest tests mints and electors: [Exercise] is the suite that every mint
// must pass, and [Memory] is a mint in memory, for the tests of electors.
//
// [Store] is the model of a mint. It is pure and takes the time as an argument, so it runs
// in the deterministic simulator as well as behind [Memory]. It keeps every rule that the
// Postgres mint keeps; [Store.Break] switches one off, to show what the rule prevents.
package electiontest
