// Package chaintest has a chain in memory, made to be broken on purpose, and the
// suite that every driver of chain.Chain must pass.
//
// # The chain
//
// A [Node] is the chain together with the one node that serves it: accounts, blocks,
// a pool with limits. A [Line] is an endpoint of it, with faults of its own, and is a
// chain.Chain: give each of several senders a line. Nothing runs by itself and nothing
// sleeps: blocks come when a test asks, or at the ticks of [Node.Run], which is virtual
// time in a bubble of testing/synctest. Chance comes from a seed.
//
//	node := chaintest.New(chaintest.Config{Seed: 1})
//	alice := node.Account("alice", 1e18)
//	line := node.Line()
//	line.LoseAnswers(0.3)   // the node has it, the caller is told nothing
//	node.Mine()             // a block of what is in the pool
//	node.Reorg(2, nil, []chain.Signed{node.Foreign("alice", 4)})
//	node.Restart(3)         // killed: three blocks and the pool are gone
//	node.Resurrect()        // and what was in the pool comes back
//
// It charges as EVM chains do: 21000 gas and 16 for each byte of data, a base fee, a
// tip. A call whose data begins with "revert" is refused by an estimate and has no
// effect in a block.
//
// # The suite
//
// [Exercise] holds a driver against the contract, with a [Fixture] that can do to the
// chain behind it what nobody does to a public one. What a fixture cannot do is
// skipped by name.
package chaintest
