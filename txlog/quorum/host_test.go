package quorum_test

import (
	"fmt"
	"testing"
	"time"
)

// B16, B17: a log of one member, and of three with two followers, takes goals at every node, and all have the same copy.
func TestGoalsFromEveryNode(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{1, 0}, {1, 1}, {3, 2}, {5, 3}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			bubble(t, size[0], size[1], func(t *testing.T, s *site) {
				for i, n := range s.nodes {
					a, err := n.put(fmt.Sprint("goal ", i), "who", i)
					if err != nil || a.Fault != "" {
						t.Fatalf("%s: %+v, %v", n.name, a, err)
					}
				}
				s.equal(3 * time.Second)
				for _, n := range s.nodes {
					answer, at, err := n.run.Load().Fresh(t.Context(), []byte(`{"get":"who"}`))
					if want := fmt.Sprintf(`{"key":"who","value":%d,"found":true}`, len(s.nodes)-1); err != nil || string(answer) != want || at.Hash.IsZero() {
						t.Errorf("%s reads %s at %+v, %v; want %s", n.name, answer, at, err, want)
					}
				}
			})
		})
	}
}

// B18, B20: the leader is killed over and over while goals come. Nothing that was acknowledged is lost or happens twice.
func TestLeadersAreKilled(t *testing.T) {
	bubble(t, 5, 2, func(t *testing.T, s *site) {
		done := make(chan int)
		go func() {
			acknowledged := 0
			defer func() { done <- acknowledged }()
			for i := range 300 {
				n := s.nodes[5+i%2]
				a, err := n.count(fmt.Sprint("goal ", i))
				if err != nil || a.Fault != "" {
					t.Errorf("goal %d: %+v, %v", i, a, err)
					return
				}
				acknowledged++
				pass(round / 2)
			}
		}()
		for range 5 {
			pass(3 * time.Second)
			if l := s.leader(); l != nil {
				l.kill()
				pass(2 * time.Second)
				l.start()
			}
		}
		acknowledged := <-done
		s.equal(5 * time.Second)
		for _, n := range s.nodes {
			answer, _, err := n.run.Load().Query(t.Context(), []byte(`{"get":"count"}`))
			if want := fmt.Sprintf(`{"key":"count","value":%d,"found":true}`, acknowledged); err != nil || string(answer) != want {
				t.Errorf("%s has %s, %v; want %s", n.name, answer, err, want)
			}
		}
	})
}
