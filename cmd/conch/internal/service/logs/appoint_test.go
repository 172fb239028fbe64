package logs

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/founding"
)

// set has a node make others the members.
func (n *testNode) set(names ...string) Changed {
	n.t.Helper()
	return gets[Changed](n, http.MethodPost, "/v1/logs/flags/members", `{"members":["`+strings.Join(names, `","`)+`"]}`)
}

func (n *testNode) memberNames() (names []string) {
	for _, m := range n.status().Members {
		names = append(names, m.Name)
	}
	return names
}

// Members are changed by their names, at any node, as goals are submitted: the leader does it. A second time changes nothing more.
func TestMembersAreChanged(t *testing.T) {
	t.Parallel()
	s := newSite(t, "n1", "n2", "n3", "n4")
	s.start(s.names...)
	s.nodes["n1"].create("n1", "n2", "n3")
	pgtest.Eventually(t, nodetest.Patience, "n4 has the log", func() bool { return s.nodes["n4"].status().State == stateRunning })
	s.nodes["n4"].put("a", 1)
	s.equal(s.names...)
	follower := s.nodes["n4"]
	made := follower.set("n2", "n3", "n4")
	if again := follower.set("n4", "n3", "n2"); again.Index < made.Index {
		t.Errorf("made by entry %d, and asked again by %d", made.Index, again.Index)
	}
	pgtest.Eventually(t, nodetest.Patience, "n4 decides, and n1 does not", func() bool {
		return s.nodes["n4"].status().Decides && !s.nodes["n1"].status().Decides
	})
	for i, n := range []*testNode{s.nodes["n1"], s.nodes["n2"], s.nodes["n3"], s.nodes["n4"]} {
		want := [][]string{{"n1", "n2", "n3"}, {"n2", "n3", "n4"}}[i%2]
		n.set(want...)
		pgtest.Eventually(t, nodetest.Patience, n.name+" is told of it", func() bool { return slices.Equal(n.memberNames(), want) })
	}
	s.nodes["n1"].put("a", 2)
	s.equal(s.names...)
	entries := gets[Page](follower, http.MethodGet, "/v1/logs/flags/entries?limit=1000", "").Entries
	changes := 0
	for _, e := range entries {
		if e.Kind == txlog.Changed.String() {
			changes++
		}
	}
	if changes != 5 {
		t.Errorf("%d entries have changed the members, want 5", changes)
	}
}

// What the leader refuses, every node refuses, with the same words; and while nobody leads, the answer is that nobody knows.
func TestMembersAreRefusedEverywhere(t *testing.T) {
	t.Parallel()
	s := newSite(t, "n1", "n2", "n3", "n4")
	s.start("n1", "n2", "n3")
	s.nodes["n1"].create("n1", "n2")
	pgtest.Eventually(t, nodetest.Patience, "n3 has the log", func() bool { return s.nodes["n3"].status().State == stateRunning })
	s.nodes["n3"].put("a", 1)
	for _, name := range []string{"n1", "n2", "n3"} {
		n := s.nodes[name]
		for _, c := range []struct {
			members, text string
			status        int
		}{
			{`["n1","n7"]`, `"detail":"members: \"n7\" is neither the leader, n`, http.StatusUnprocessableEntity},
			{`["n1","n1"]`, "twice", http.StatusUnprocessableEntity},
			{`[]`, "1 to 9", http.StatusUnprocessableEntity},
			{`["n1","n4"]`, "n4: it does not answer", http.StatusServiceUnavailable},
		} {
			if name != "n3" && strings.Contains(c.members, "n4") {
				continue // it takes a while
			}
			if code, text := n.asks(http.MethodPost, "/v1/logs/flags/members", `{"members":`+c.members+`}`); code != c.status || !strings.Contains(text, c.text) {
				t.Errorf("%s makes %s the members: %d %s", name, c.members, code, text)
			}
		}
	}
	s.nodes["n1"].stop()
	for _, name := range []string{"n2", "n3"} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		_, err := s.nodes[name].svc.Parts()[0].change(ctx, []string{"n1", "n2", "n3"}, 1)
		cancel()
		if !nobodyKnows(err) {
			t.Errorf("%s, while nobody leads: %v", name, err)
		}
	}
	s.start("n1")
	s.nodes["n3"].set("n1", "n2", "n3")
	s.nodes["n3"].put("a", 2)
	s.equal("n1", "n2", "n3")
}

// The leader takes no request of a node that the log does not admit, or about another log; one of a node that it admits it does, one at a
// time.
func TestWhoMayAppoint(t *testing.T) {
	t.Parallel()
	s := newSite(t, "n1", "n2", "n3")
	n := s.nodes["n1"]
	for _, of := range s.nodes {
		of.more = "peers = [\"n1\", \"n2\"]\n"
	}
	s.start("n1", "n2")
	n.create("n1")
	pgtest.Eventually(t, nodetest.Patience, "n2 has the log", func() bool { return n.status().Leads && s.nodes["n2"].status().State == stateRunning })
	r := n.svc.Parts()[0]
	g, _ := r.began()
	send := func(from string, log txlog.ID) {
		b, err := founding.Message{Log: log, Body: founding.Appoint{Serial: 1, Names: []string{"n1", "n2"}, Since: 1}}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		r.founded(transport.Envelope{From: from, Body: b})
	}
	send("n3", g.ID())
	send("n2", txlog.ID{7})
	r.mu.Lock()
	r.busy["appoint n2"] = true // another one is under way
	r.mu.Unlock()
	send("n2", g.ID())
	n.put("a", 1)
	if now := n.memberNames(); !slices.Equal(now, []string{"n1"}) {
		t.Errorf("the members are %q", now)
	}
	r.counts.mu.Lock()
	strangers := r.counts.refused[reasonStranger]
	r.counts.mu.Unlock()
	if strangers != 1 {
		t.Errorf("%d strangers were refused, want 1", strangers)
	}
	r.mu.Lock()
	delete(r.busy, "appoint n2")
	r.mu.Unlock()
	send("n2", g.ID())
	pgtest.Eventually(t, nodetest.Patience, "n2 is a member", func() bool { return slices.Equal(n.memberNames(), []string{"n1", "n2"}) })
	if _, err := r.change(t.Context(), []string{"n1", "n3"}, 1); !errors.Is(err, txlog.ErrMembers) {
		t.Errorf("a node that the log does not admit: %v", err)
	}
}
