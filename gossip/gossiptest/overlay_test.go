package gossiptest_test

import (
	"math"
	"slices"
	"testing"

	"github.com/conchhq/conch/gossip/gossiptest"
)

// The overlay is in one piece, both ends know of a connection, and a node has about twice H_n − ½ neighbours (B23).
func TestGrow(t *testing.T) {
	t.Parallel()
	const nodes = 200
	on := gossiptest.Grow(nodes, 1)
	ends, want := 0, -0.5
	for i, near := range on {
		ends += len(near)
		want += 1 / float64(i+1)
		for _, to := range near {
			if to == i || !slices.Contains(on[to], i) {
				t.Fatalf("%d is connected with %d", i, to)
			}
		}
	}
	if got := float64(ends) / nodes; math.Abs(got-2*want) > 3 {
		t.Errorf("a node has %.1f neighbours, want about %.1f", got, 2*want)
	}
	seen := map[int]bool{0: true}
	for todo := []int{0}; len(todo) > 0; todo = todo[1:] {
		for _, to := range on[todo[0]] {
			if !seen[to] {
				seen[to] = true
				todo = append(todo, to)
			}
		}
	}
	if len(seen) != nodes {
		t.Errorf("%d of %d nodes are in one piece", len(seen), nodes)
	}
	if again := gossiptest.Grow(nodes, 1); !slices.EqualFunc(on, again, slices.Equal[[]int]) {
		t.Error("the same seed grows another overlay")
	}
}
