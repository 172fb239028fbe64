// Package standin runs one node of a private contract, so that package bench can measure it, among stand-ins for all that is
// not the node.
//
//   - The node is a sequencer.Node with a store in memory, its own keys and its own endorsement. Users of this process hand
//     in payments and wait until each is confirmed.
//   - A [Peer] is another member. It answers over the network in memory after a delay. It decodes, hashes and encodes as a
//     node does, on the same processors; only its signatures cost next to nothing. They are good ones, which the node
//     verifies as any other: but each has the same nonce, so that a multiplication is left to do, and so that two of
//     them give the key away ([Scheme.Stamp]).
//   - The ledger is sequencertest.Chain, by a scheme that takes every signature for good: to verify is an EVM's work. It
//     refuses what breaks another rule, and a run in which it did has failed.
package standin
