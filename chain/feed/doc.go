// Package feed lets all accounts of a process share what they read of one chain: one stream of heads, one reading
// of each block, one request for the next nonces of all, one description. What a thousand accounts ask of a node
// is then no more than what one asks, and an account that does not follow the heads costs nothing.
//
//	shared := feed.New(driver)
//	defer shared.Close()
//	manager, err := pending.New(pending.Config{Account: a, Chain: shared.Of(a), …})
//
// What can fail, and what happens: an error of the stream ends it for each reader, as the driver's own would, and
// the first one that comes back begins it again where it was. Each reader works out its own turns: one that cannot be
// led to the head gets an error alone. An answer that several wait for is asked for once; if that fails again and
// again, each asks for itself.
package feed
