// Package endpoints makes one chain.Chain of several endpoints of the same chain, so that none of them
// has to answer and none has to be believed alone.
//
//	set, err := endpoints.New(endpoints.Config{Endpoints: []endpoints.Endpoint{
//		{Name: "own node", Chain: own, Weight: 2},
//		{Name: "provider", Chain: provider, Weight: 1},
//	}})
//	defer set.Close()
//
// # Rules
//
//   - Reads stick to one endpoint: answers from two would contradict each other whenever one is behind.
//     They move to the next by weight when it errs, or when another one is far ahead with a head that
//     links to what is followed (W4).
//   - A transaction is sent to every endpoint at once. What one has taken is taken; a refusal counts only
//     if none took it. A slow endpoint holds up nobody (W8). If an endpoint is private, bytes go to
//     private ones alone.
//   - A second opinion comes from another endpoint than the first (W2). With three or more, a majority
//     decides. If no other endpoint answers for ten minutes, the same one is asked anew.
//   - An endpoint of another chain is put aside, and the chain goes on without it.
//
// A [Set] is safe for concurrent use. Errors name the endpoint, without secrets.
//
// Sources: requirements S19, S20, S25; docs/providers.md.
package endpoints
