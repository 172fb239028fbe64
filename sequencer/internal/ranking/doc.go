// Package ranking says which node of a committee should coordinate a contract, and which ones if that node is away.
//
// Every node computes the same answer from the same height, without a message: the committee, the contract and a range
// of blocks go in, an order of all nodes comes out. Nodes whose heights differ may name different coordinators for a
// while. That costs work and never safety: a ranking is a suggestion.
//
// # Ranges
//
// A committee keeps one order for a range of blocks, so that work is not moved with each block. The range is that of the
// block after the last final one: a block that may be taken back decides nothing.
//
// # Policies
//
//   - [Rendezvous]: every node has a weight for each range, and the heaviest comes first. The ranges of a node that is
//     away fall to all others alike.
//   - [Circle]: nodes and ranges are points on a circle, and the nearest node comes first. The ranges of a node that is
//     away fall to its neighbours, and a node's share depends on where its name happens to lie.
//
// # Which range counts
//
// A sender names the range for which it has chosen a coordinator. The coordinator and the endorsers judge that choice
// by the ranking of the named range, and take it if the range is near their own ([Window]). A node that refuses what
// another height chose starves it: with thirty nodes whose heights differ by two ranges, next to nothing is done.
//
// Sources: document 002; requirements P1–P6, P21–P26; D8, D9, D17.
package ranking
