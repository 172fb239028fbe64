// Package chaintest has a chain in memory that tests can break on purpose, and the suite
// that every driver of chain.Chain must pass.
//
// # The chain
//
// A [Node] is a chain and the one node that serves it: accounts, blocks, and a pool with
// limits. A [Line] is an endpoint of that node and a chain.Chain, with faults of its own:
// give each sender its own line. Both are safe for concurrent use.
//
//	node := chaintest.New(chaintest.Config{Seed: 1})
//	alice := node.Account("alice", 1e18)
//	line := node.Line()
//	line.LoseAnswers(0.3)   // the node acts, and 30 % of its answers are lost
//	node.Mine()             // a block of what is in the pool
//	node.Reorg(2, nil, []chain.Signed{node.Foreign(alice, 4)})
//	node.Restart(3)         // killed: three blocks and the pool are gone
//	node.Resurrect()        // the transactions of the pool come back
//
// With Config.Era signed transactions wear out: after so many blocks, with node.Upgrade (the runtime of the chain changes, on
// the branch of the next block), and with node.Ban. Then an attempt says Until and Version.
//
// A test asks for blocks, or [Node.Run] makes them at intervals, in virtual time inside
// testing/synctest. All chance comes from Config.Seed.
//
// Prices are those of EVM chains: 21000 gas and 16 for each byte of data, a base fee and a
// tip. A call whose data begins with "revert" has no estimate, and no effect in a block; one that begins with
// "half" is carried out in part.
//
// # The suite
//
// [Exercise] tests a driver against the contract of chain.Chain. Its [Fixture] controls
// the chain behind the driver; a test that needs what the fixture cannot do is skipped.
//
//	func TestExercise(t *testing.T) { chaintest.Exercise(t, newFixture) }
package chaintest
