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
// # Behaviours
//
// A profile is made of small functions. A [Behaviour] answers one call: by itself, by passing it on, or by
// changing the call before or the answer after. A [Transport] does the same for a whole request. Both are
// stacked, the first one outermost:
//
//	Install: func(p *evmtest.Provider) {
//		p.Carries(evmtest.BatchLimit(100, evmtest.ByObject))
//		p.Does(evmtest.FinalityBehind(1000), evmtest.Pruned(128))
//		p.Does(evmtest.PerItem(evmtest.Fresh, evmtest.Lag(3)).While(&p.Fault))
//	}
//
// Calls of a batch are answered one after the other, by the same goroutine. What depends on the height
// of the chain reads it once for each request. Chance comes from a seed that is the same in every run.
//
// # What a provider counts
//
// Requests, calls by method, calls that it refused, the transactions that came, and its strikes: how often
// it has changed an answer. A test whose provider has no strikes has shown nothing.
//
// # Limits
//
// A provider does not know the node's fees: minimal tips, bumps of a certain size, the fee of an L1 and
// chains without EIP-1559 are left out, and so are credits by method.
package evmtest
