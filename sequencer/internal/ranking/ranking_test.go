package ranking

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

var policies = map[string]Policy{"rendezvous": Rendezvous{}, "circle": Circle{}}

// P3: document 002's circle, where A lies at 315°, B at 45°, C at 225° and D at 135°.
func TestTheCircleOfTheDocument(t *testing.T) {
	t.Parallel()
	degrees := func(d float64) turn { return turn(math.Round(d / 360 * 0x1p64)) }
	nodes := map[string]turn{"A": degrees(315), "B": degrees(45), "C": degrees(225), "D": degrees(135)}
	for _, c := range []struct {
		point float64
		want  string
	}{
		{310, "A C B D"}, {55, "B D A C"}, {120, "D B C A"},
		{0, "B A D C"}, // A and B are at the same distance: clockwise comes first
		{90, "D B C A"}, {315, "A B C D"}, {359.9, "A B C D"}, {0.1, "B A D C"},
	} {
		got := strings.Join(nearest([]string{"A", "B", "C", "D"}, degrees(c.point), func(name string) turn { return nodes[name] }), " ")
		if got != c.want {
			t.Errorf("at %v°: got %s, want %s", c.point, got, c.want)
		}
	}
}

// P2: nodes of any version and language have to agree, so the orders never change. The values are those of another
// program, which has only the documentation of digest.
func TestOrdersNeverChange(t *testing.T) {
	t.Parallel()
	if got, want := digest("conch rendezvous", "0xc0ffee", 1, "bank-a"), uint64(0x700762f8a135cb78); got != want {
		t.Errorf("digest: got %#x, want %#x", got, want)
	}
	nodes := []string{"bank-a", "bank-b", "bank-c", "bank-d", "bank-e"}
	for name, want := range map[string][]string{
		"rendezvous": {"bank-d bank-c bank-a bank-b bank-e", "bank-e bank-c bank-d bank-a bank-b", "bank-e bank-d bank-c bank-b bank-a", "bank-c bank-d bank-e bank-b bank-a"},
		"circle":     {"bank-e bank-c bank-d bank-a bank-b", "bank-e bank-d bank-b bank-c bank-a", "bank-a bank-c bank-b bank-d bank-e", "bank-e bank-c bank-d bank-a bank-b"},
	} {
		for r, order := range want {
			if got := strings.Join(policies[name].Order("0xc0ffee", nodes, Range(r)), " "); got != order {
				t.Errorf("%s, range %d: got %q, want %q", name, r, got, order)
			}
		}
	}
}

// P2, P3, P6, I7: every policy is a total order of all nodes that does not depend on the order in which they are named, is
// the same for the blocks of a range, and is another one for another contract.
func TestPolicies(t *testing.T) {
	t.Parallel()
	for name, policy := range policies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chance := rand.New(rand.NewPCG(1, 2))
			for range 500 {
				nodes := named(1 + chance.IntN(50))
				r, contract := Range(chance.Uint64()), fmt.Sprint(chance.Uint64())
				order := policy.Order(contract, nodes, r)
				if got, want := slices.Sorted(slices.Values(order)), slices.Sorted(slices.Values(nodes)); !slices.Equal(got, want) {
					t.Fatalf("the order has %q, want each of %q once", got, want)
				}
				mixed := slices.Clone(nodes)
				chance.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
				if again := policy.Order(contract, mixed, r); !slices.Equal(order, again) {
					t.Fatalf("got %q, and with the nodes named in another order %q", order, again)
				}
				gone := nodes[chance.IntN(len(nodes))]
				without := func(all []string) []string {
					return slices.DeleteFunc(slices.Clone(all), func(n string) bool { return n == gone })
				}
				if rest := policy.Order(contract, without(nodes), r); !slices.Equal(rest, without(order)) {
					t.Fatalf("without %q: got %q, want the others in the same order: %q", gone, rest, without(order))
				}
			}
			differ := 0
			for r := range Range(100) {
				if nodes := named(5); policy.Order("one", nodes, r)[0] != policy.Order("other", nodes, r)[0] {
					differ++
				}
			}
			if differ < 50 {
				t.Errorf("two contracts have different coordinators in %d of 100 ranges, want 80 or so", differ)
			}
		})
	}
}

func named(n int) (nodes []string) {
	for i := range n {
		nodes = append(nodes, fmt.Sprintf("node-%d", i+1))
	}
	return nodes
}

// D9: the coordinator of a block is chosen once the block before it is final.
func TestRanges(t *testing.T) {
	t.Parallel()
	c, err := NewCommittee("0xc", []string{"b", "a"}, 4, Rendezvous{})
	if err != nil {
		t.Fatal(err)
	}
	for final, want := range map[uint64]Range{0: 0, 2: 0, 3: 1, 6: 1, 7: 2} {
		if got := c.RangeOf(final); got != want {
			t.Errorf("with block %d final: range %d, want %d", final, got, want)
		}
	}
	if c.First(2) != 8 || !c.Has("a") || c.Has("c") || !slices.Equal(c.Nodes(), []string{"a", "b"}) {
		t.Errorf("range 2 begins at %d, members %q; want 8, a and b", c.First(2), c.Nodes())
	}
	order := c.Order(1)
	if !c.Prefers(1, order[0], order[1]) || c.Prefers(1, order[1], order[0]) || !c.Prefers(1, order[1], "c") || c.Prefers(1, "c", order[1]) {
		t.Errorf("of %q the first is not preferred to the second, and both to a stranger", order)
	}
}

// P1: every fault of a committee is named.
func TestFaultsOfACommittee(t *testing.T) {
	t.Parallel()
	_, err := NewCommittee("", []string{"a", "b", "a", ""}, 0, Rendezvous{})
	for _, want := range []string{"contract has no name", "range of 0 blocks", "a node has no name", `"a" is named twice`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q in it", err, want)
		}
	}
	if _, err := NewCommittee("c", nil, 1, Rendezvous{}); err == nil {
		t.Error("an empty committee is no fault, want one")
	}
	if _, err := NewCommittee("c", []string{"a"}, 1, nil); err == nil {
		t.Error("no policy is no fault, want one")
	}
}

// D17, Q10: a delegation may come from a sender that is a range behind or two ahead; an endorser refuses only what is more
// than two ranges old. In strict mode both take their own range alone (P21, P25).
func TestWindows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		window Window
		takes  string // for each range from 5 to 15, seen from 10
	}{
		"delegation":  {Delegation, "....yyyy..."},
		"endorsement": {Endorsement, "...yyyyyyyy"},
		"strict":      {Strict, ".....y....."},
	} {
		got := ""
		for named := Range(5); named <= 15; named++ {
			got += map[bool]string{true: "y", false: "."}[c.window.Takes(10, named)]
		}
		if got != c.takes {
			t.Errorf("%s: takes %s, want %s", name, got, c.takes)
		}
	}
	if !Endorsement.Takes(0, math.MaxUint64) || Delegation.Takes(math.MaxUint64, 0) || !Delegation.Takes(0, 0) {
		t.Error("the ends of the numbers are wrong")
	}
}

func TestHeightNeverDecreases(t *testing.T) {
	t.Parallel()
	var h Height
	if _, known := h.Final(); known {
		t.Error("a height is known before any was noted")
	}
	for _, c := range []struct {
		final  uint64
		higher bool
	}{{0, true}, {0, false}, {7, true}, {6, false}, {7, false}, {8, true}} {
		if got := h.Note(c.final); got != c.higher {
			t.Errorf("noted %d: higher %v, want %v", c.final, got, c.higher)
		}
	}
	if final, known := h.Final(); final != 8 || !known {
		t.Errorf("got %d, %v; want 8", final, known)
	}
}
