// Package evmtest has JSON-RPC providers that behave as real ones do, for tests of code that reads
// and sends transactions through them.
//
// Between a program and a node stands a provider: it limits, caches, balances its load, lags and is
// wrong at times. A [Provider] is such a server in the test's process, before a real [Node]:
//
//	node := evmtest.StartNode(t, evmtest.Program(t, "../cmd/conch-devnode"), "--block-time", "100ms")
//	for _, profile := range evmtest.Profiles(false) {
//		provider := evmtest.Start(t, node, profile)
//		use(provider.HTTP()) // or WS
//	}
//
// The node itself is the witness: [Node.Mined] reads the blocks, past every provider.
//
// # Profiles
//
// A [Profile] is one kind of provider: its name, which real one does this, and the finding of a review
// that it belongs to. [Profiles] has them all. Most behave the same all the time; the others have a
// fault with a switch, Provider.Fault, and Profile.Fault says when a test has to turn it. What a service pays for each
// transaction through each of them is in costs.md beside this file.
//
// # Limits
//
// A provider does not know the node's fees: minimal tips, bumps of a certain size, the fee of an L1 and
// chains without EIP-1559 are left out, and so are credits by method.
package evmtest
