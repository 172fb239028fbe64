package gossip_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/gossip/internal/core"
	"github.com/conchhq/conch/gossip/internal/hint"
	"github.com/conchhq/conch/gossip/internal/overlay"
	overlaywire "github.com/conchhq/conch/gossip/internal/overlay/wire"
	"github.com/conchhq/conch/gossip/internal/wire"
	"github.com/conchhq/conch/internal/proctest"
	"github.com/conchhq/conch/internal/runtest"
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

const (
	floodTime  = 5 * time.Second
	floodPause = 50 * time.Millisecond // between two parcels
)

// One node that is no elector and floods the electors over TLS, with valid news of made-up keys, deposes no leader that works, also
// where the processors have other work: it changes only where it does without a flood. It is for the night, when the machine has nothing else to do.
func TestFloodsDeposeNobody(t *testing.T) {
	runtest.NightRun(t)
	const floods = 20
	parcels := junk(t, int(floodTime/floodPause))
	for range 4 {
		proctest.Start(t, exec.Command("/bin/sh", "-c", "while :; do :; done"))
	}
	deposed := 0
	for i := range floods {
		t.Run(fmt.Sprint("flood ", i+1), func(t *testing.T) {
			calm, changes, refused := flooded(t, parcels)
			t.Logf("another leader came %d times, and %d times before, and %d statements were left out", changes, calm, refused)
			if changes > 0 && calm == 0 {
				deposed++
			}
			if refused == 0 {
				t.Error("this was no flood")
			}
		})
	}
	if t.Logf("in %d of %d floods another leader came", deposed, floods); deposed > 0 {
		t.Fail()
	}
}

// junk returns parcels with as much news as they hold, each piece of another key.
func junk(t *testing.T, parcels int) (all [][]byte) {
	for range parcels {
		var p wire.Parcel
		for range wire.MostSaid {
			_, private, err := ed25519.GenerateKey(nil)
			if err != nil {
				t.Fatal(err)
			}
			key, err := hint.NewPinned(private)
			if err != nil {
				t.Fatal(err)
			}
			p.Said = append(p.Said, word(key.Subject(), key, 1, "junk", nil))
		}
		body, err := wire.Encode(p)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, body)
	}
	return all
}

// flooded has a node flood three electors, and returns how often another leader came, in as much time before and with that, and how much was left
// out.
func flooded(t *testing.T, parcels [][]byte) (calm, changes int, refused uint64) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	all := prepared(t, 4, 4)
	electors, guest := all[:3], all[3]
	for _, p := range electors {
		p.run(t)
	}
	online, cut := context.WithCancel(t.Context())
	down := make(chan error, 1)
	go func() { down <- guest.end.Run(online) }()
	defer func() { cut(); <-down }()
	news, err := guest.end.Open(core.LineGossip)
	if err != nil {
		t.Fatal(err)
	}
	views, err := guest.end.Open(core.LineOverlay)
	if err != nil {
		t.Fatal(err)
	}
	hello, err := overlaywire.Encode(overlay.Hello{Address: guest.end.Addr().String(), Incarnation: 1, Holds: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range electors {
		guest.end.Connect(p.name, p.end.Addr().String())
	}
	eventually(ctx, t, electors, "one leads, and the guest is heard", func(p *process, s gossip.Status) bool {
		heard := false
		for _, n := range s.Neighbours {
			heard = heard || n.Name == guest.name
		}
		if !heard {
			_ = views.Send(p.name, hello)
		}
		return heard && s.Hints[0].Leader.Name != "" && s.Hints[0].Leader.Subject == electors[0].agent.Status().Hints[0].Leader.Subject
	})
	count := func() (changes int) {
		for _, p := range electors {
			changes += p.agent.Status().Hints[0].Changes
		}
		return changes
	}
	before := count()
	tick := time.NewTicker(floodPause)
	defer tick.Stop()
	for range parcels {
		<-tick.C
	}
	between := count()
	for _, body := range parcels {
		for _, p := range electors {
			_ = news.Send(p.name, body)
		}
		<-tick.C
	}
	for _, p := range electors {
		for _, n := range p.agent.Status().Counts.Refused {
			refused += n
		}
	}
	return between - before, count() - between, refused
}

// sent counts the messages of statements, and those of the overlay, that all agents have sent.
func (s *site) sent() (n uint64) {
	for _, one := range s.nodes {
		n += one.agent.Status().Counts.MessagesSent
	}
	return n
}

// A guest says six things once to five of a hundred agents without electors: what others said last, and two lives of one of them in the wrong
// order, so that each pushes another one from the first places. The agents then say no more than three times what they say at rest, in each second
// until all of it is over, and agree again.
func TestSixWordsAreNoStorm(t *testing.T) {
	runtest.LongRun(t)
	bubble(t, func(t *testing.T, s *site) {
		s.cheap = true
		s.crowd(100, 0)
		for i, n := range s.nodes {
			n.agent.Seniority("site", uint64(i*37%100)+7)
		}
		s.agree(20 * time.Second)
		pass(10 * time.Second)
		guest := s.net.Roam("evil", keyOf(t, "evil").Subject())
		line, err := guest.Open(core.LineGossip)
		if err != nil {
			t.Fatal(err)
		}
		views, err := guest.Open(core.LineOverlay)
		if err != nil {
			t.Fatal(err)
		}
		hello, err := overlaywire.Encode(overlay.Hello{Address: "evil", Incarnation: 1, Holds: true})
		if err != nil {
			t.Fatal(err)
		}
		five := []string{"n1", "n11", "n37", "n62", "n100"}
		for _, name := range five {
			guest.Connect(name, name)
		}
		pass(time.Second)
		for _, name := range five {
			if err := views.Send(name, hello); err != nil {
				t.Fatal(err)
			}
		}
		before := s.sent()
		pass(10 * time.Second)
		rest := (s.sent() - before) / 10
		for i, w := range []wire.Said{
			lifeOf("a", 1, 0, 9), lifeOf("b", 1, 0, 9), lifeOf("c", 1, 0, 99), lifeOf("x", 2, 0, 0), lifeOf("x", 1, 6, 0), lifeOf("d", 1, 0, 1),
			lifeOf("a", 1, 0, 9), lifeOf("b", 1, 0, 9), lifeOf("c", 1, 0, 99), lifeOf("x", 2, 0, 0), lifeOf("x", 1, 6, 0), lifeOf("d", 1, 0, 1),
		} {
			body, err := wire.Encode(wire.Parcel{Said: []wire.Said{w}})
			if err != nil {
				t.Fatal(err)
			}
			for j := range five {
				if err := line.Send(five[(i+j)%5], body); err != nil {
					t.Fatal(err)
				}
			}
		}
		for second := range 12 {
			before := s.sent()
			pass(time.Second)
			if n := s.sent() - before; n > 3*rest {
				t.Fatalf("in second %d the agents send %d messages, and %d at rest", second+1, n, rest)
			}
		}
		s.agree(30 * time.Second)
	})
}

// lifeOf is a heartbeat of a life of somebody whose key the guest has made.
func lifeOf(name string, life, reign, seniority uint64) wire.Said {
	key := keyOf(nil, name).Subject()
	beat := wire.Heartbeat{Stands: true, Wide: true, Reign: reign, Leads: reign > 0, Seniority: seniority, Host: fmt.Sprint("host-", name)}
	said := wire.Said{Statement: wire.Statement{Subject: key, Incarnation: life, Sequence: 1, Namespace: "site", Body: beat.Body()}}
	said.Signature = seal{key}.Sign(said.Signed())
	return said
}
