// Package providertest has what a provider before a node of Ethereum is made of: how it limits, caches, balances its load, lags
// and lies. Package evmtest has it for other rooms; the tests of the driver use it here.
//
// Start with provider.go, then behaviour.go. call.go and reply.go have what goes in and comes out; each of the files after them
// has one kind of fault, and profiles_….go put them together. node.go and key.go have the node behind a provider, and keys.
//
// # Behaviours
//
// A profile is made of small functions. A [Behaviour] answers one call: by itself, by passing it on, or by
// changing the call before or the answer after. A [Transport] does the same for a whole request. Both are
// stacked, the first one outermost:
//
//	Install: func(p *Provider) {
//		p.Carries(BatchLimit(100, ByObject))
//		p.Does(FinalityBehind(1000), Pruned(128))
//		p.Does(PerItem(Fresh, Lag(3)).While(&p.Fault))
//	}
//
// Calls of a batch are answered one after the other, by the same goroutine. What depends on the height
// of the chain reads it once for each request. Chance comes from a seed that is the same in every run.
//
// # What a provider counts
//
// Requests, calls by method, calls that it refused, the transactions that came, and its strikes: how often
// it has changed an answer. A test whose provider has no strikes has shown nothing.
package providertest
