package ranking

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// Rendezvous gives every node a weight for each contract and range, and the heaviest comes first. Each node has the
// same share of the ranges, and those of a node that is away fall to all others alike (D8).
//
// Source: Thaler and Ravishankar, "Using Name-Based Mappings to Increase Hit Rates", 1998.
type Rendezvous struct{}

// Order implements Policy.
func (Rendezvous) Order(contract string, nodes []string, r Range) []string {
	seats := make([]seat, len(nodes))
	for i, name := range nodes {
		seats[i] = seat{name: name, key: ^digest("conch rendezvous", contract, r, name)}
	}
	return inOrder(seats)
}

// seat is a node and the numbers by which it is sorted.
type seat struct {
	name      string
	key, then uint64
}

// inOrder returns the nodes, that with the lowest key first. Names make the order total.
func inOrder(seats []seat) []string {
	slices.SortFunc(seats, func(a, b seat) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.then, b.then), cmp.Compare(a.name, b.name))
	})
	order := make([]string, len(seats))
	for i, s := range seats {
		order[i] = s.name
	}
	return order
}

// digest returns the first eight bytes, big-endian, of the SHA-256 of the parts. Each text follows its length in eight
// bytes, so that no two lists of parts have the same bytes; the range is eight bytes. Other programs have to compute
// the same.
func digest(domain, contract string, r Range, name string) uint64 {
	buffer := make([]byte, 0, 128)
	for _, text := range []string{domain, contract} {
		buffer = append(binary.BigEndian.AppendUint64(buffer, uint64(len(text))), text...)
	}
	buffer = binary.BigEndian.AppendUint64(buffer, uint64(r))
	sum := sha256.Sum256(append(buffer, name...))
	return binary.BigEndian.Uint64(sum[:])
}
