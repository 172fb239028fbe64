package swarm

import (
	"fmt"
	"slices"
	"testing"
)

func names(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("node-%03d", i+1))
	}
	return all
}

func count(of []string, has func(string) bool) (n int) {
	for _, one := range of {
		if has(one) {
			n++
		}
	}
	return n
}

// A strike leaves a majority of the electors and the leader, or else nobody would have to lead.
func TestVictims(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ nodes, crashed, side int }{{10, 1, 4}, {12, 1, 4}, {40, 4, 16}, {200, 20, 80}} {
		for seed := range uint64(200) {
			all := names(c.nodes)
			electors, leader := all[:7], all[seed%7]
			elects := func(n string) bool { return slices.Contains(electors, n) }
			p := NewPlan(seed, all, electors)
			crashed := p.Tenth(leader)
			if len(crashed) != c.crashed || slices.Contains(crashed, leader) || count(crashed, elects) > 2 {
				t.Errorf("%d nodes, seed %d: %v crash, want %d, two electors at most, and not the leader", c.nodes, seed, crashed, c.crashed)
			}
			side := p.Side(leader)
			cut := slices.DeleteFunc(slices.Clone(all), func(n string) bool { return !side[n] })
			if len(cut) != c.side || side[leader] || count(cut, elects) != 3 {
				t.Errorf("%d nodes, seed %d: %v are cut off, want %d, three electors among them, and not the leader", c.nodes, seed, cut, c.side)
			}
		}
	}
}

func TestEqualSeedsChooseTheSame(t *testing.T) {
	t.Parallel()
	all := names(40)
	choose := func(seed uint64) []string {
		p := NewPlan(seed, all, all[:7])
		return append(p.Tenth(all[0]), p.One(all))
	}
	if !slices.Equal(choose(3), choose(3)) || slices.Equal(choose(3), choose(4)) {
		t.Errorf("seed 3 chooses %v and %v, seed 4 %v", choose(3), choose(3), choose(4))
	}
}

// Without relays nothing is cut.
func TestTheStrikes(t *testing.T) {
	t.Parallel()
	for _, cuts := range []bool{true, false} {
		p, seen, cycles := NewPlan(1, names(10), names(7)), map[Strike]int{}, 0
		for cycles < 3 {
			s, last := p.Next(cuts)
			if seen[s]++; last {
				cycles++
			}
		}
		if (seen[Part] == 3) != cuts || seen[KillLeader] != 6 || seen[KillWriter] != 3 || seen[Wipe] != 3 || seen[Crash] != 3 {
			t.Errorf("cuts %t: got %v, want three cycles", cuts, seen)
		}
	}
}
