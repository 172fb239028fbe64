//go:build unix

package bench

import (
	"testing"
)

// In a fixed order each subject always pays for what the one before it left behind.
func TestSubjectsTakeTurns(t *testing.T) {
	t.Parallel()
	subjects := []subject{{name: "a"}, {name: "b"}, {name: "c"}, {name: "d"}, {name: "e"}, {name: "f"}, {name: "g"}, {name: "h"}}
	var order []string
	least, err := inTurn(t.Context(), subjects, func(s subject) timing {
		order = append(order, s.name)
		return timing{ns: float64(100 - len(order)), allocs: 1}
	})
	if err != nil || len(order) != gateRounds*len(subjects) {
		t.Fatalf("got %d calls, %v; want each subject once per round", len(order), err)
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
			t.Errorf("round %d is %v, want each subject once", round, turn)
		}
	}
	if len(firsts) != gateRounds {
		t.Errorf("got %d different first subjects in %d rounds", len(firsts), gateRounds)
	}
	for name, who := range before {
		if len(who) < 2 {
			t.Errorf("%s always follows the same one: %v", name, who)
		}
	}
	// The timings only go down, so the least of each subject is that of the last round.
	last := order[len(order)-1]
	for i, s := range subjects {
		if s.name == last && least[i].ns != float64(100-len(order)) {
			t.Errorf("%s: got the least timing %v, want %v", last, least[i].ns, 100-len(order))
		}
	}
}
