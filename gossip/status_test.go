package gossip_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/gossip"
)

// Status says who leads, since when and how often that has changed (B21), when it was heard last (B7), and by which
// connections.
func TestStatus(t *testing.T) {
	bubble(t, func(t *testing.T, s *site) {
		s.crowd(7, 3)
		first := s.agree(5 * time.Second)
		pass(30 * time.Second)
		if err := s.node("n7").agent.Publish("site", "flag", []byte("on")); err != nil {
			t.Fatal(err)
		}
		pass(2 * time.Second)
		for _, n := range s.nodes {
			all := n.agent.Status()
			st := all.Hints[0]
			heard := 1100 * time.Millisecond
			if slices.Contains(s.electors, n.name) {
				heard = 200 * time.Millisecond
			}
			if st.Heard < 0 || st.Heard > heard {
				t.Errorf("%s has heard the leader %v ago", n.name, st.Heard)
			}
			if st.Tenure < 30*time.Second || st.Tenure > 37*time.Second || time.Since(st.Since).Round(time.Second) != st.Tenure.Round(time.Second) {
				t.Errorf("%s follows it for %v, since %v", n.name, st.Tenure, st.Since)
			}
			if st.Changes != 1 || st.Reign != 1 || st.Top != 1 || st.Policy != "reign" || st.Leads != (n == first) {
				t.Errorf("%s: %+v", n.name, st)
			}
			if len(st.Electors) != 3 || st.Electors[1].Name != "n2" || !st.Electors[1].Proven {
				t.Errorf("%s knows the electors %v", n.name, st.Electors)
			}
			if all.Self.Name != n.name || all.Self.Subject != n.key || all.Self.Address != n.name {
				t.Errorf("%s is %+v", n.name, all.Self)
			}
			if len(all.News) != 1 || string(all.News[0].Body) != "on" || all.News[0].Age < 1800*time.Millisecond || all.News[0].Age > 3*time.Second {
				t.Errorf("%s has the news %+v", n.name, all.News)
			}
			if c := all.Counts; c.MessagesSent == 0 || c.MessagesReceived == 0 || c.BytesSent < c.MessagesSent || c.BytesReceived < c.MessagesReceived || c.Dropped+c.Undated != 0 {
				t.Errorf("%s has counted %+v", n.name, c)
			}
			electors := 0
			for _, p := range all.Neighbours {
				if !p.Proven || p.Name == "" || p.Since.After(time.Now()) {
					t.Errorf("%s has the neighbour %+v", n.name, p)
				}
				if p.Elector {
					electors++
				}
			}
			if want := map[bool]int{true: 2}[slices.Contains(s.electors, n.name)]; electors != want {
				t.Errorf("%s keeps connections to %d electors, want %d", n.name, electors, want)
			}
		}
		first.kill()
		s.agree(3 * time.Second)
		for _, n := range s.nodes {
			if n == first {
				continue
			}
			// It may know nobody for a moment in between.
			all := told[gossip.Leader](n)
			at := slices.IndexFunc(all, func(e gossip.Leader) bool { return e.Before.Name == first.name })
			if at < 0 || all[at].Lasted < 30*time.Second || all[at].Lasted > 45*time.Second {
				t.Errorf("%s was told %+v", n.name, all)
			}
		}
	})
}

// A Withdraw before Run counts when it runs, and so does the seniority, which decides who is first.
func TestBeforeRun(t *testing.T) {
	bubble(t, func(t *testing.T, s *site) {
		for _, name := range []string{"n1", "n2", "n3"} {
			s.add(name, false)
			s.contacts = append(s.contacts, name)
		}
		for i, n := range s.nodes {
			n.end = s.net.Roam(n.name, n.key)
			a, err := gossip.New(n.config())
			if err != nil {
				t.Fatal(err)
			}
			a.Seniority("site", uint64(1+i%2)) // n2 is the most senior one
			if err := a.Publish("site", "flag", nil); !errors.Is(err, gossip.ErrStopped) {
				t.Errorf("got %v", err)
			}
			n.run(a)
		}
		if l := s.agree(10 * time.Second); l.name != "n2" {
			t.Errorf("%s leads, and n2 is the most senior", l.name)
		}
	})
}

// A node without a name is called by its key, and no node at all is nobody.
func TestHowANodeIsCalled(t *testing.T) {
	t.Parallel()
	if text := (gossip.Node{}).String() + " " + (gossip.Node{Subject: gossip.Subject{1}}).String(); text != "nobody 01000000" {
		t.Errorf("got %q", text)
	}
}
