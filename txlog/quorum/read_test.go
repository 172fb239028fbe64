package quorum_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
)

// A query has the length of a goal at most, whether it is of now or of the copy that is here.
func TestALongQuery(t *testing.T) {
	bubble(t, 1, 0, func(t *testing.T, s *site) {
		h := s.nodes[0].run.Load()
		for size, want := range map[int]error{txlog.MostGoal: txlog.ErrMalformed, txlog.MostGoal + 1: txlog.ErrSize} {
			query := make([]byte, size)
			if _, _, err := h.Query(t.Context(), query); !errors.Is(err, want) {
				t.Errorf("a query of %d bytes: %v", size, err)
			}
			if _, _, err := h.Fresh(t.Context(), query); !errors.Is(err, want) {
				t.Errorf("a fresh one of %d bytes: %v", size, err)
			}
		}
	})
}

// A read of a leader that is deposed goes to the next one at once, for each node that has asked (B12).
func TestAReadOfADeposedLeader(t *testing.T) {
	bubble(t, 3, 1, func(t *testing.T, s *site) {
		s.fill(5)
		l := s.leader()
		s.net.Part([]string{l.name, "n4"}, others(s, l.name, "n4")) // of the follower it is heard
		own, follower := l.fresh(t.Context()), s.nodes[3].fresh(t.Context())
		s.within(3*time.Second, "another one leads", func() bool { now := s.leader(); return now != nil && now != l })
		s.net.Heal()
		pass(600 * time.Millisecond)
		for of, read := range map[string]<-chan result[uint64]{"the deposed leader": own, "the follower": follower} {
			select {
			case r := <-read:
				if r.err != nil {
					t.Errorf("a read of %s: %v", of, r.err)
				}
			default:
				t.Errorf("a read of %s still waits", of)
			}
		}
	})
}

// others returns the names of all nodes but some.
func others(s *site, but ...string) (all []string) {
	for _, n := range s.nodes {
		if !slices.Contains(but, n.name) {
			all = append(all, n.name)
		}
	}
	return all
}
