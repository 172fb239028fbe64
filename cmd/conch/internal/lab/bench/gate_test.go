//go:build unix

package bench

import (
	"testing"
)

// In a fixed order one subject always pays for what the one before it left behind.
func TestSubjectsTakeTurns(t *testing.T) {
	t.Parallel()
	subjects := []subject{{name: "a"}, {name: "b"}, {name: "c"}, {name: "d"}, {name: "e"}, {name: "f"}, {name: "g"}, {name: "h"}}
	var order []string
	least, err := inTurn(t.Context(), subjects, func(s subject) timing {
		order = append(order, s.name)
		return timing{ns: float64(100 - len(order)), allocs: 1}
	})
	if err != nil || len(order) != gateRounds*len(subjects) {
		t.Fatalf("%d calls, %v", len(order), err)
	}
	firsts, before := map[string]bool{}, map[string]map[string]bool{}
	for round := range gateRounds {
		turn := order[round*len(subjects) : (round+1)*len(subjects)]
		seen := map[string]bool{}
		for i, name := range turn {
			seen[name] = true
			if before[name] == nil {
				before[name] = map[string]bool{}
			}
			if i > 0 {
				before[name][turn[i-1]] = true
			}
		}
		firsts[turn[0]] = true
		if len(seen) != len(subjects) {
			t.Errorf("round %d is %v", round, turn)
		}
	}
	if len(firsts) != gateRounds {
		t.Errorf("%d of %d rounds begin with a subject of their own", len(firsts), gateRounds)
	}
	for name, who := range before {
		if len(who) < 2 {
			t.Errorf("%s always follows the same one: %v", name, who)
		}
	}
	// The timings only went down: what is least of each is that of the last round.
	last := order[len(order)-1]
	for i, s := range subjects {
		if s.name == last && least[i].ns != float64(100-len(order)) {
			t.Errorf("of %s %v is said to be the least", last, least[i].ns)
		}
	}
}
