package gossip_test

import (
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/gossip"
)

// A user of the transport who needs a connection with a node has it, and has it again after that node has started anew, until
// it is needed no more. It stays when the overlay of neither side needs it.
func TestKeep(t *testing.T) {
	bubble(t, func(t *testing.T, s *site) {
		s.crowd(16, 0)
		pass(20 * time.Second)
		one := s.nodes[8]
		far := s.nodes[slices.IndexFunc(s.nodes, func(n *node) bool {
			return n != one && !slices.Contains(one.end.Peers(), n.name)
		})]
		connected := func() bool {
			return slices.Contains(one.end.Peers(), far.name) && slices.Contains(far.end.Peers(), one.name)
		}
		one.agent.Keep(map[string]string{far.name: far.name})
		s.within(2*time.Second, "they are connected", connected)
		for range 12 { // one that nobody needs is given up after three seconds
			pass(time.Second)
			if !connected() {
				t.Fatal("the connection that is needed was given up")
			}
		}
		far.kill()
		pass(20 * time.Second)
		far.start()
		s.within(10*time.Second, "they are connected again", connected)
		one.agent.Keep(nil)
		s.within(5*time.Minute, "they are connected no more", func() bool { return !connected() })
	})
}

// The neighbour that brought a piece of news first is named: it has what the news speaks of soonest.
func TestNewsNamesItsWay(t *testing.T) {
	bubble(t, func(t *testing.T, s *site) {
		s.crowd(20, 0)
		pass(10 * time.Second)
		before := map[*node][]string{} // a connection may end right after that
		for _, n := range s.nodes {
			before[n] = n.end.Peers()
		}
		if err := s.nodes[0].agent.Publish("site", "topic", []byte("body")); err != nil {
			t.Fatal(err)
		}
		for _, n := range s.nodes[1:] {
			s.within(time.Second, n.name+" has heard it", func() bool { return len(told[gossip.News](n)) > 0 })
			if via := told[gossip.News](n)[0].Via; !slices.Contains(before[n], via) && !slices.Contains(n.end.Peers(), via) {
				t.Errorf("%s heard it by %q, and its peers are %q, before %q", n.name, via, n.end.Peers(), before[n])
			}
		}
	})
}
