package logs

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/founding"
)

// leader returns who leads.
func (s *site) leader() (leads *testNode) {
	s.t.Helper()
	pgtest.Eventually(s.t, nodetest.Patience, "one leads", func() bool {
		for _, n := range s.nodes {
			if n.web != nil && n.status().Leads {
				leads = n
				return true
			}
		}
		return false
	})
	return leads
}

// deciders returns the members, without those that a change that goes on needs for a moment.
func (n *testNode) deciders() (names []string) {
	for _, m := range n.svc.Parts()[0].running().Status().Members {
		names = append(names, m.Name)
	}
	return names
}

// appoints brings the leader a request of this node, and returns its answer.
func (n *testNode) appoints(leader *testNode, a founding.Appoint) founding.Appointed {
	n.t.Helper()
	r, answer := n.svc.Parts()[0], make(chan told, 1)
	g, _ := r.began()
	r.mu.Lock()
	r.asks[a.Serial] = answer
	r.mu.Unlock()
	b, err := founding.Message{Log: g.ID(), Body: a}.Encode()
	if err != nil {
		n.t.Fatal(err)
	}
	leader.svc.Parts()[0].founded(transport.Envelope{From: n.name, Body: b})
	var got told
	pgtest.Within(n.t, nodetest.Patience, "the leader answers", func() { got = <-answer })
	is, ok := got.body.(founding.Appointed)
	if !ok || is.Serial != a.Serial {
		n.t.Fatalf("request %d is answered by %+v", a.Serial, got.body)
	}
	return is
}

// A request to the leader is sent until it is answered, so copies of it come late: at this leader or the next one, and after a newer change. None
// of them undoes anything; one that is done already is answered as done.
func TestALateRequestUndoesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, "n1", "n2", "n3", "n4")
	s.start(s.names...)
	s.nodes["n1"].create("n1", "n2", "n3")
	asker := s.nodes["n4"]
	pgtest.Eventually(t, nodetest.Patience, "n4 has the log", func() bool { return asker.status().State == stateRunning })
	asker.put("a", 1)
	pgtest.Eventually(t, nodetest.Patience, "n4 knows the members", func() bool { return asker.status().MembersAt > 0 })
	late := founding.Appoint{Serial: 7, Names: []string{"n1", "n2", "n3", "n4"}, Since: asker.status().MembersAt}
	if first := asker.appoints(s.leader(), late); first.Err != nil {
		t.Fatal(first.Err)
	}
	if again := asker.appoints(s.leader(), late); again.Err != nil {
		t.Errorf("a request that is done is answered with %v", again.Err)
	}
	asker.set("n1", "n2", "n3")
	restarted := s.nodes["n4"]
	restarted.stop()
	restarted.start()
	pgtest.Eventually(t, nodetest.Patience, "n4 runs again", func() bool { return restarted.status().State == stateRunning })
	check := func(at string) {
		t.Helper()
		if got := restarted.appoints(s.leader(), late); !errors.Is(got.Err, txlog.ErrChanged) {
			t.Errorf("at %s a late request is answered with entry %d, %v", at, got.Index, got.Err)
		}
		if now := s.leader().deciders(); !slices.Equal(now, []string{"n1", "n2", "n3"}) {
			t.Errorf("after a late request at %s the members are %q", at, now)
		}
	}
	check("the same leader")
	old := s.leader()
	old.stop()
	check("the next leader")
}

// The numbers of a node's requests begin by chance, and wrap around: each request is answered, whatever its number is and whatever came before.
func TestEachRequestIsAnswered(t *testing.T) {
	t.Parallel()
	s := newSite(t, "n1", "n2")
	s.start(s.names...)
	s.nodes["n1"].create("n1")
	asker := s.nodes["n2"]
	pgtest.Eventually(t, nodetest.Patience, "n2 has the log", func() bool { return s.nodes["n1"].status().Leads && asker.status().MembersAt > 0 })
	for i, serial := range []uint64{0, 1<<64 - 1, 0, 5, 4, 4, 5} {
		if got := asker.appoints(s.nodes["n1"], founding.Appoint{Serial: serial, Names: []string{"n1", "n2"}, Since: 1}); got.Err != nil {
			t.Errorf("request %d, number %d: %v", i, serial, got.Err)
		}
	}
}

// Of two requests that count on the same members one is refused, at whichever nodes they are made, and says what to do. Without since the
// members of the moment count.
func TestTwoThatHaveSeenTheSameMembers(t *testing.T) {
	t.Parallel()
	s := newSite(t, "n1", "n2", "n3", "n4")
	s.start(s.names...)
	s.nodes["n1"].create("n1", "n2", "n3")
	for _, n := range s.nodes {
		pgtest.Eventually(t, nodetest.Patience, n.name+" has the log", func() bool { return n.status().MembersAt > 0 })
	}
	seen := s.nodes["n4"].status().MembersAt
	type answer struct {
		code int
		text string
	}
	wants := map[string][]string{"n4": {"n1", "n2", "n3", "n4"}, "n1": {"n1", "n2"}}
	answers := map[string]chan answer{}
	for name, want := range wants {
		answers[name] = make(chan answer, 1)
		go func() {
			code, text := s.nodes[name].asks(http.MethodPost, "/v1/logs/flags/members", fmt.Sprintf(`{"members":["%s"],"since":%d}`, strings.Join(want, `","`), seen))
			answers[name] <- answer{code, text}
		}()
	}
	var won []string
	for name, is := range answers {
		var a answer
		pgtest.Within(t, nodetest.Patience, name+" is answered", func() { a = <-is })
		switch {
		case a.code == http.StatusOK:
			won = append(won, name)
		case a.code != http.StatusConflict:
			t.Errorf("%s is answered %d %s", name, a.code, a.text)
		}
	}
	if len(won) != 1 {
		t.Fatalf("%q have changed the members", won)
	}
	if now := s.leader().deciders(); !slices.Equal(now, wants[won[0]]) {
		t.Errorf("%s has had the members changed, and they are %q", won[0], now)
	}
	stale := fmt.Sprintf(`{"members":["n1","n3"],"since":%d}`, seen)
	if code, text := s.nodes["n2"].asks(http.MethodPost, "/v1/logs/flags/members", `{"members":["n1","n3"],"since":0}`); code != http.StatusConflict || !strings.Contains(text, "members-changed") {
		t.Errorf("what counts on the members of the genesis: %d %s", code, text)
	}
	if code, text := s.nodes["n2"].asks(http.MethodPost, "/v1/logs/flags/members", stale); code != http.StatusConflict || !strings.Contains(text, "members-changed") || !strings.Contains(text, "conch log members") {
		t.Errorf("what counts on members of before: %d %s", code, text)
	}
	c := s.nodes["n2"].door().run("members", "flags", "--set", "n1,n3", "--since", fmt.Sprint(seen))
	var err error
	pgtest.Within(t, nodetest.Patience, "the command ends", func() {
		for c.out.Scan() { // it would wait for a reader
			continue
		}
		err = <-c.ended
	})
	if err == nil || !strings.Contains(err.Error(), "have changed meanwhile") {
		t.Errorf("conch log members counts on members of before: %v", err)
	}
	at := s.leader().status()
	if got := gets[Changed](s.nodes["n2"], http.MethodPost, "/v1/logs/flags/members", fmt.Sprintf(`{"members":["n1","n3"],"since":%d}`, at.MembersAt)); got.Index <= at.MembersAt {
		t.Errorf("those of entry %d are changed by entry %d", at.MembersAt, got.Index)
	}
	s.nodes["n4"].set("n1", "n2", "n3")
}
