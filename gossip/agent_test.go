package gossip_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/gossip/internal/hint"
	"github.com/conchhq/conch/gossip/internal/wire"
)

// B16: a single node names itself, in reign 0, since nobody else could know of another one.
func TestSingle(t *testing.T) {
	bubble(t, func(t *testing.T, s *site) {
		s.crowd(1, 0)
		if l := s.agree(4 * time.Second); l.status().Reign != 0 || l.status().State != "leading" {
			t.Errorf("got %+v", l.status())
		}
	})
}

// B17: two nodes agree. The one that is left leads when the other one dies, and goes on to when it comes back.
func TestTwo(t *testing.T) {
	bubble(t, func(t *testing.T, s *site) {
		s.crowd(2, 0)
		first := s.agree(10 * time.Second)
		first.kill()
		second := s.agree(14 * time.Second)
		if second == first {
			t.Fatal("a dead node leads")
		}
		first.start()
		pass(time.Minute)
		if l := s.agree(0); l != second {
			t.Errorf("%s leads after the other one came back: it was deposed", l.name)
		}
	})
}

// A crowd agrees from a cold start, within what docs/gossip.md promises and the second that the overlay takes to connect
// it. In the calm after that nobody changes its mind. The leader is killed, and all others name one other within the
// validity and four beats (B19).
func TestCrowds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		nodes, electors int
		cold, killed    time.Duration
		again           bool // another one of its kind shows it under the race detector
	}{
		{5, 0, 9 * time.Second, 12 * time.Second, false},
		{large, 0, 12 * time.Second, 12 * time.Second, true},
		{3, 3, 900 * time.Millisecond, 1200 * time.Millisecond, false},
		{5, 5, 900 * time.Millisecond, 1200 * time.Millisecond, true},
		{large, 7, 4 * time.Second, 1400 * time.Millisecond, false},
	} {
		if c.again && raced && os.Getenv("CONCH_WHOLE")+os.Getenv("CONCH_NIGHTLY") == "" {
			continue
		}
		t.Run(fmt.Sprintf("%d nodes, %d electors", c.nodes, c.electors), func(t *testing.T) {
			bubble(t, func(t *testing.T, s *site) {
				s.crowd(c.nodes, c.electors)
				first := s.agree(c.cold)
				changes := map[*node]int{}
				for _, n := range s.nodes {
					changes[n] = n.status().Changes
				}
				pass(15 * time.Second)
				for _, n := range s.nodes {
					if st := n.status(); st.Leader.Name != first.name || st.Changes != changes[n] {
						t.Errorf("%s: it follows %v after %d changes, and followed %s after %d", n.name, st.Leader, st.Changes, first.name, changes[n])
					}
				}
				reign := first.status().Reign
				first.kill()
				s.within(c.killed, "another one leads", func() bool { l := s.leader(); return l != nil && l != first })
				if second := s.leader(); second.status().Reign != reign+1 {
					t.Errorf("reign %d comes after %d", second.status().Reign, reign)
				}
			})
		})
	}
}

// B18: five electors are parted. The side with the majority names one leader, the other one nobody; when the line is
// mended all agree again, and the leader was not deposed.
func TestAPartition(t *testing.T) {
	bubble(t, func(t *testing.T, s *site) {
		s.crowd(5, 5)
		l := s.agree(time.Second)
		var few, many []string
		for _, n := range s.nodes {
			if n != l && len(few) < 2 {
				few = append(few, n.name)
			} else {
				many = append(many, n.name)
			}
		}
		s.net.Part(few, many)
		s.within(2*time.Second, "the two that are cut off name nobody", func() bool {
			return s.node(few[0]).status().Leader == gossip.Node{} && s.node(few[1]).status().Leader == gossip.Node{}
		})
		pass(20 * time.Second)
		if now := s.leader(s.node(many[0]), s.node(many[1]), s.node(many[2])); now != l {
			t.Errorf("the majority no longer follows %s\n%s", l.name, s.views())
		}
		if st := s.node(few[0]).status(); st.State != "parted" {
			t.Errorf("an elector without a majority is %v", st.State)
		}
		s.net.Heal()
		if now := s.agree(10 * time.Second); now != l {
			t.Errorf("%s leads after the heal: the leader was deposed", now.name)
		}
	})
}

// B18, without electors: each side of a partition names its own, and the higher reign is left when it is one again.
func TestAnOpenPartition(t *testing.T) {
	bubble(t, func(t *testing.T, s *site) {
		s.crowd(6, 0)
		s.agree(12 * time.Second)
		one, other := []*node{s.nodes[0], s.nodes[3], s.nodes[4]}, []*node{s.nodes[1], s.nodes[2], s.nodes[5]} // each side has a contact
		s.net.Part([]string{"n1", "n4", "n5"}, []string{"n2", "n3", "n6"})
		s.within(15*time.Minute, "each side has a leader", func() bool {
			a, b := s.leader(one...), s.leader(other...)
			return a != nil && b != nil && a != b
		})
		pass(time.Minute)
		s.net.Heal()
		s.agree(15 * time.Minute)
	})
}

// Withdraw has the leader stand back: another one leads, long before the first one would have been missed.
func TestWithdraw(t *testing.T) {
	bubble(t, func(t *testing.T, s *site) {
		s.crowd(5, 0)
		first := s.agree(10 * time.Second)
		pass(5 * time.Second)
		first.agent.Withdraw("site", errors.New("the disk is full"))
		s.within(3*time.Second, "another one leads", func() bool { l := s.leader(); return l != nil && l != first })
		st := first.status()
		if st.State != "standing back" || st.Back < 10*time.Second || st.Leads {
			t.Errorf("it is %v for %v", st.State, st.Back)
		}
		downs := told[gossip.SteppedDown](first)
		if len(downs) != 1 || !errors.Is(downs[0].Why, hint.ErrWithdrawn) || downs[0].For < 15*time.Second {
			t.Errorf("got %+v", downs)
		}
		first.agent.Withdraw("elsewhere", nil)
	})
}

// A person's withdrawal stands for its time, although the program says beside it that it cannot work, and then that it can. That is heard when
// the time is up, unless the program cannot work again by then.
func TestAPersonsWithdrawalStands(t *testing.T) {
	bubble(t, func(t *testing.T, s *site) {
		s.crowd(5, 0)
		first := s.agree(10 * time.Second)
		broken := errors.New("the log does not run")
		for _, again := range []bool{false, true} {
			first.agent.StandBack("site", errors.New("it is to be repaired"))
			pass(10 * time.Second)
			person := first.status().Back
			first.agent.Withdraw("site", broken)
			first.agent.Return("site")
			if program := first.status().Back; program < person+5*time.Second {
				t.Fatalf("it stands back for %v, and %v of them since a person wants it", program, person)
			}
			pass(person - time.Second)
			if now := first.status().State; now != "standing back" {
				t.Fatalf("a second before the person's time is up it is %v", now)
			}
			if again {
				first.agent.Withdraw("site", broken)
			}
			pass(2 * time.Second)
			if back := first.status().State == "standing back"; back != again {
				t.Errorf("the program cannot work: %v; it stands back: %v", again, back)
			}
			first.agent.Return("site")
			if now := first.status().State; now == "standing back" {
				t.Error("nothing keeps it back, and it is not back")
			}
		}
	})
}

// A node that is stopped leaves: it says that it does not lead any more, and goodbye. Another one leads without waiting
// until the first is missed, and nobody tries to reach it.
func TestStop(t *testing.T) {
	bubble(t, func(t *testing.T, s *site) {
		s.crowd(5, 0)
		first := s.agree(10 * time.Second)
		pass(5 * time.Second)
		first.halt()
		pass(longest + time.Millisecond) // it may have said goodbye in its last instant, to a peer that had just called
		for _, n := range s.nodes {
			for _, p := range n.agent.Status().Neighbours {
				if n != first && p.Name == first.name {
					t.Errorf("%s still has it as a neighbour", n.name)
				}
			}
		}
		s.within(3*time.Second, "another one leads", func() bool { return s.leader() != nil })
		for _, n := range s.nodes {
			if n != first && strings.Contains(strings.Join(n.agent.Status().Lost, " "), first.name) {
				t.Errorf("%s looks for a node that has said goodbye", n.name)
			}
		}
		if err := first.agent.Publish("site", "flag", nil); !errors.Is(err, gossip.ErrStopped) {
			t.Errorf("got %v", err)
		}
		if err := first.agent.Run(t.Context()); !errors.Is(err, gossip.ErrRan) {
			t.Errorf("got %v", err)
		}
	})
}

// News is at every node in a moment, once. A newcomer hears what is not older than a minute.
func TestNews(t *testing.T) {
	bubble(t, func(t *testing.T, s *site) {
		s.crowd(large, 0)
		pass(10 * time.Second)
		began := time.Now()
		for i, n := range s.nodes[:20] {
			if err := n.agent.Publish("site", fmt.Sprint("topic ", i), []byte("body of "+n.name)); err != nil {
				t.Fatal(err)
			}
		}
		s.within(time.Second, "everybody has heard all", func() bool {
			for _, n := range s.nodes {
				if len(n.agent.Status().News) < 20 {
					return false
				}
			}
			return true
		})
		t.Logf("twenty pieces were at all nodes after %v", time.Since(began))
		for _, n := range s.nodes { // what a reader is told is its own to write on: the newcomer hears what was said
			for _, e := range told[gossip.News](n) {
				e.Body[0] = 'B'
			}
		}
		s.add("late", true).start()
		pass(10 * time.Second)
		for i, n := range s.nodes {
			want, times := 20, map[string]int{}
			if i < 20 {
				want = 19 // its own it need not be told
			}
			for _, e := range told[gossip.News](n) {
				times[e.Topic]++
				if string(e.Body[1:]) != "ody of "+e.Subject.Name && e.Subject.Name != "" {
					t.Errorf("%s hears %q of %v", n.name, e.Body, e.Subject)
				}
			}
			if len(times) != want || len(told[gossip.News](n)) != want {
				t.Errorf("%s was told of %d topics in %d events, want %d", n.name, len(times), len(told[gossip.News](n)), want)
			}
		}
	})
}

// What nobody would take is refused at once, and says why.
func TestBadNewsIsNotPublished(t *testing.T) {
	bubble(t, func(t *testing.T, s *site) {
		s.crowd(1, 0)
		pass(time.Second)
		for _, c := range []struct {
			namespace, topic string
			body             []byte
			want             error
		}{
			{"elsewhere", "t", nil, hint.ErrNamespace},
			{"site", "", nil, hint.ErrNamespace},
			{"site", "t", make([]byte, wire.MostBody+1), wire.ErrSize},
			{"site", "\xff", nil, wire.ErrMalformed},
		} {
			if err := s.nodes[0].agent.Publish(c.namespace, c.topic, c.body); !errors.Is(err, c.want) {
				t.Errorf("%q in %q: got %v, want %v", c.topic, c.namespace, err, c.want)
			}
		}
		for i := range 33 {
			err := s.nodes[0].agent.Publish("site", fmt.Sprint(i), nil)
			if (err != nil) != (i == 32) || i == 32 && !errors.Is(err, gossip.ErrTopics) {
				t.Errorf("topic %d: %v", i+1, err)
			}
		}
		e, counts := told[gossip.Refused](s.nodes[0]), s.nodes[0].agent.Status().Counts.Refused
		if len(e) != 0 || len(counts) != 0 {
			t.Errorf("the user's own faults are told as a peer's: %+v, %v", e, counts)
		}
	})
}
