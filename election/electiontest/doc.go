// Package electiontest is what a mint is tested with: [Exercise], the suite that
// every mint must pass, and a mint in memory to test electors against.
//
// [Store] is the model of a mint: pure, with time handed in, so that it runs in
// the deterministic simulator as well as behind [Memory], which is an
// election.Mint. It keeps every rule that the Postgres mint keeps, and can be
// told to break one ([Store.Break]) to show what that rule is for.
package electiontest
