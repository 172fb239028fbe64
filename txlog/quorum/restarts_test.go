package quorum_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A node that restarts after a few entries each time keeps snapshots all the same, counted from the newest one of its store, and drops what
// comes before them: else its file and its start would grow for ever. So it does if its state is large, and is read in many parts.
func TestANodeThatRestartsOften(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string]int{"a small state": 1, "a large one": 40} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 3, 1, func(t *testing.T, s *site) {
				for i := range keys {
					goal := fmt.Sprintf(`{"op":"put","key":"k%d","value":%q}`, i, strings.Repeat("x", 30_000))
					if a, err := s.nodes[0].run.Load().Goal(t.Context(), fmt.Sprint("k", i), []byte(goal), 0); err != nil || a.Fault != "" {
						t.Fatal(a.Fault, err)
					}
				}
				often := s.nodes[2:] // a member, and a follower
				for range 12 {
					for _, n := range often {
						n.kill()
						n.start()
					}
					s.fill(30)
					s.equal(20 * time.Second)
					pass(3 * time.Second)
				}
				pass(10 * time.Second)
				for _, n := range often {
					if v := n.store.View(); len(v.Kept) < 2 || v.Floor.Index+250 < v.Last.Index {
						t.Errorf("%s has %d snapshots of %d records, and the first record is %d", n.name, len(v.Kept), v.Last.Index, v.Floor.Index+1)
					} else if apart := v.Kept[1].At.Index - v.Kept[0].At.Index; apart < 100 {
						t.Errorf("%s has snapshots %d entries apart, and one comes every 100", n.name, apart)
					}
				}
			})
		})
	}
}
