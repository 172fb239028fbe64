package quorum_test

import (
	"testing"
	"time"

	"github.com/conchhq/conch/txlog/internal/follower"
	"github.com/conchhq/conch/txlog/quorum"
)

// What others wait for does not wait for this node's disk: a head covers it, so it is true whether it is stored here or not. Else each hop of an
// entry through the crowd would take a sync.
func TestAnEntryIsGivenBeforeItIsStored(t *testing.T) {
	bubble(t, 3, 2, func(t *testing.T, s *site) {
		s.goes("before")
		s.equal(3 * time.Second)
		n := s.nodes[3]
		asker := s.raw("n5")
		n.kill()
		n.with = func(c *quorum.Config) { c.Store = slowDisk{c.Store, time.Second} }
		n.start()
		pass(3 * round) // it is connected
		next := n.run.Load().Position().Index + 1
		asker.say(n.name, follower.Pull{Serial: 1, From: next, Upto: next})
		pass(round)
		if _, err := s.leader().count("after"); err != nil {
			t.Fatal(err)
		}
		if a := hears[follower.History](asker); len(a.Records) != 1 || a.Records[0].Index != next || len(a.Heads) == 0 {
			t.Fatalf("it gives %+v", a)
		}
		if have := n.store.View().Last.Index; have >= next {
			t.Error("it has stored the entry before it has given it")
		}
		s.within(3*time.Second, "it is stored", func() bool { return n.store.View().Last.Index >= next })
	})
}
