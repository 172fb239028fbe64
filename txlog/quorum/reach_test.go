package quorum

import "testing"

// A member that says how far the log is knows all that was committed in terms before: others deny heads by its word. One that hears no
// leader, or has no entry of its term yet, says nothing.
func TestReach(t *testing.T) {
	t.Parallel()
	said, silent := 0, 0
	for seed := range uint64(seeds(4)) {
		w := newWorld(t, seed, 5)
		w.loss, w.crashes = 0.05, 0.002
		w.each = func() {
			for _, n := range w.nodes {
				if n.m == nil {
					continue
				}
				reach := n.m.Reach()
				if reach == 0 {
					silent++
					continue
				}
				said++
				for _, r := range w.committed[reach:] {
					if r.Term < n.m.term {
						t.Fatalf("seed %d: in term %d %s says that the log is at %d, and entry %d was committed in term %d", seed, n.m.term, n.name, reach, r.Index, r.Term)
					}
				}
			}
		}
		storm(w, 30)
		w.loss, w.crashes = 0, 0
		w.heal()
		w.until(200, "all have the same log", w.settled)
		w.run(5 * round)
		for _, n := range w.nodes {
			if n.m.Reach() != uint64(len(w.committed)) {
				t.Errorf("seed %d: %s says that the log is at %d, and it is at %d", seed, n.name, n.m.Reach(), len(w.committed))
			}
		}
	}
	if said < 1000 || silent < 1000 {
		t.Errorf("members have said %d times how far the log is, and %d times that they cannot", said, silent)
	}
}
