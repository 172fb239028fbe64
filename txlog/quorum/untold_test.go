package quorum_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/quorum"
)

// untold returns the entries that a node has passed over in what it has told.
func (n *node) untold() (passed []uint64) {
	next := uint64(1)
	n.told(func(e quorum.Event) bool {
		switch e := e.(type) {
		case quorum.Fetched:
			next = e.Index + 1
		case quorum.Applied:
			for _, r := range e.Records {
				for ; next < r.Index; next++ {
					passed = append(passed, next)
				}
				if next++; r.Index+1 != next {
					passed = append(passed, r.Index) // twice
				}
			}
		}
		return false
	})
	return passed
}

// A leader whose memory is wrong stores what was committed, gives its term up, and begins anew. It tells of each entry, once: a client that
// follows the log by what it tells would miss entries without a word of it, and the node would miss connections to new members.
func TestANodeThatBeginsAnewTellsOfAll(t *testing.T) {
	t.Parallel()
	for at := range 6 {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			bubble(t, 3, 1, func(t *testing.T, s *site) {
				var seen [4]sync.Map
				var armed [4]atomic.Bool
				for i, n := range s.nodes {
					n.kill()
					n.with = func(c *quorum.Config) {
						c.New = func() txlog.State { return forgetful{kv.New(), &seen[i], &armed[i]} }
					}
					n.start()
				}
				s.goes("before")
				s.equal(10 * time.Second)
				l := s.leader()
				var all []<-chan result[txlog.Answer]
				for i := range 60 {
					all = append(all, later(func() (txlog.Answer, error) { return s.nodes[3].count(fmt.Sprint("goal ", i)) }))
					if i == 10+at {
						armed[slices.Index(s.nodes, l)].Store(true)
					}
					pass(time.Millisecond)
				}
				for i, one := range all {
					if r := <-one; r.err != nil {
						t.Errorf("goal %d: %v", i, r.err)
					}
				}
				s.equal(20 * time.Second)
				if !l.told(func(e quorum.Event) bool { _, is := e.(quorum.Rebuilt); return is }) {
					t.Fatal("its memory was right: this test cannot fail")
				}
				for _, n := range s.nodes {
					if passed := n.untold(); len(passed) > 0 {
						t.Errorf("%s has told nothing of the entries %d, or has told of them twice", n.name, passed)
					}
				}
			})
		})
	}
}
