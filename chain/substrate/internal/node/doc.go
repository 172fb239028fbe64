// Package node reads a Substrate chain through one endpoint, and believes of it only what it cannot prove (Z11): which hash is the head,
// and which is final. All below such a hash is proven by it: headers are hashed here, a body has to fit the root in its header, and
// a line of blocks is one by the hashes of their parents. What does not fit is a fault of the endpoint, and nothing is concluded from it.
//
// It needs no metadata: extrinsics and states are bytes here.
//
// Every connection has to show the configured genesis before anything else is asked on it.
//
// Read view.go first. Sources: the Polkadot specification; requirements S15, S18, S20, S23; rules Z11–Z13 and the table of verdicts
// of the Substrate review.
package node
