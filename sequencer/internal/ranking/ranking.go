package ranking

import (
	"slices"

	"github.com/conchhq/conch/internal/faults"
)

// Range is a number of consecutive blocks. Range r of a committee with ranges of n blocks has the blocks from r·n on.
type Range uint64

// Policy orders a committee. It is a pure function, and safe for concurrent use.
type Policy interface {
	// Order returns the committee's nodes for a range of a contract, the one that should coordinate first. Equal
	// arguments give equal answers on every node and in every version. The nodes are not changed.
	Order(contract string, nodes []string, r Range) []string
}

// Committee is the set of nodes that may coordinate a contract. It never changes once the contract exists (P1).
type Committee struct {
	contract string
	nodes    []string // sorted
	blocks   uint64
	policy   Policy
}

// NewCommittee returns the committee of a contract, named by its address, that keeps one order for so many blocks.
// The order of the nodes does not matter. The error lists every fault.
func NewCommittee(contract string, nodes []string, blocks uint64, policy Policy) (Committee, error) {
	f := faults.List{Of: "ranking: "}
	f.Add(contract == "", "the contract has no name")
	f.Add(len(nodes) == 0, "a committee without nodes coordinates nothing")
	f.Add(blocks == 0, "a range of 0 blocks: name 1 at least")
	f.Add(policy == nil, "no policy is given: take Rendezvous")
	nodes = slices.Sorted(slices.Values(nodes))
	for i, name := range nodes {
		f.Add(name == "", "a node has no name")
		f.Add(name != "" && i > 0 && nodes[i-1] == name, "the node %q is named twice", name)
	}
	return Committee{contract: contract, nodes: nodes, blocks: blocks, policy: policy}, f.All()
}

// Has reports whether a node is a member.
func (c Committee) Has(node string) bool {
	_, found := slices.BinarySearch(c.nodes, node)
	return found
}

// Nodes returns the members, sorted by name.
func (c Committee) Nodes() []string { return slices.Clone(c.nodes) }

// RangeOf returns the range for which coordinators are chosen when the block with this height is the last final one.
func (c Committee) RangeOf(final uint64) Range { return Range((final + 1) / c.blocks) }

// First returns the height of the first block of a range.
func (c Committee) First(r Range) uint64 { return uint64(r) * c.blocks }

// Order returns the members for a range, the one that should coordinate first (P2, P3).
func (c Committee) Order(r Range) []string { return c.policy.Order(c.contract, c.nodes, r) }

// Prefers reports whether one member comes before another in a range. A node that is no member comes last.
func (c Committee) Prefers(r Range, one, other string) bool {
	order := c.Order(r)
	a, b := slices.Index(order, one), slices.Index(order, other)
	return a >= 0 && (b < 0 || a < b)
}
