// Package store is the model of a mint: rows, sessions and fences as a pure state machine, which takes the time as an argument. It runs in
// the simulated electorate, and behind the mint in memory of package electiontest, which passes the suite that every mint must pass.
//
// It keeps every rule that the mint over Postgres keeps; [Store.Break] switches one off, to show what the rule prevents. Read store.go first;
// bid.go has what a session asks for, in the order of a tenure, and fences.go what the clients of a leader's database do.
package store
