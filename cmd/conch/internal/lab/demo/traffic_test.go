//go:build unix

package demo

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/cmd/conch/internal/lab/nodeapi"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgaccount"
	"github.com/conchhq/conch/cmd/conch/internal/lab/stage"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/internal/fleet"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// Kills go to the leader of the work and, after each that spared the sender, to the sender.
func TestTheNextVictim(t *testing.T) {
	a, b := &member{number: 1}, &member{number: 2}
	for _, c := range []struct {
		name                 string
		spared               bool
		worker, sender, want *member
	}{
		{"the leader of the work first", false, a, b, a},
		{"then the sender that was spared", true, a, b, b},
		{"one that does both", false, a, a, a},
		{"nobody leads the work right now", false, nil, b, nil},
		{"nobody sends right now, and it is the sender's turn", true, a, nil, nil},
	} {
		if got := (&supervisor{spared: c.spared}).victim(c.worker, c.sender); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// A row of the database alone makes nobody a sender: the node must be alive, must have sent
// in this term, and must not have been killed in it.
func TestTheSender(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*traffic, *member)
		want   bool
	}{
		{"it has sent", func(*traffic, *member) {}, true},
		{"it has not sent yet", func(tr *traffic, _ *member) { tr.sender = 6 }, false},
		{"it was killed", func(tr *traffic, _ *member) { tr.killed = 7 }, false},
		{"it is killed", func(_ *traffic, m *member) { m.Killed = true }, false},
		{"it is dead", func(_ *traffic, m *member) { m.Process = nil }, false},
		{"another one leads", func(tr *traffic, _ *member) { tr.row.Holder = "b" }, false},
		{"its session is gone", func(tr *traffic, _ *member) { tr.row.Held = false }, false},
	} {
		tr := &traffic{row: pgops.ScopeStatus{Holder: "a", Epoch: 7, Held: true}, sender: 7, killed: 6}
		m := &member{Player: stage.Player{Name: "a", Process: &fleet.Process{}}}
		c.change(tr, m)
		if got := tr.sends(m); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// The demo ends when all acknowledged requests have ended, or after a limit.
func TestTheEndIsAwaited(t *testing.T) {
	began := time.Now()
	for _, c := range []struct {
		name     string
		ending   time.Time
		open     int
		answered bool
		want     bool
	}{
		{"nobody asked for the end", time.Time{}, 0, true, false},
		{"all has ended", began, 0, true, true},
		{"a customer waits for an answer", began, 0, false, false},
		{"an intent is open", began, 1, true, false},
		{"it stays open for too long", began.Add(-settleMost), 1, true, true},
	} {
		s := &supervisor{ending: c.ending, traffic: &traffic{shop: &receiver{}, progress: pgaccount.Progress{Open: c.open}}}
		if got := s.over(began, c.answered); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
	if s := (&supervisor{ending: began}); !s.over(began, true) {
		t.Error("without transactions the demo waits")
	}
}

// api imitates a node's API and keeps the keys of the requests.
type api struct {
	mu   sync.Mutex
	keys []string
}

func serve(t *testing.T, answer func(w http.ResponseWriter, key string)) (*api, string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "api") //nolint:usetesting // on some systems t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	ln, err := new(net.ListenConfig).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	a := &api{}
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Key string `json:"idempotency_key"`
		}
		_ = json.NewDecoder(r.Body).Decode(&request)
		a.mu.Lock()
		a.keys = append(a.keys, request.Key)
		a.mu.Unlock()
		answer(w, request.Key)
	})}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(ln) }()
	t.Cleanup(func() { _ = server.Close(); <-served })
	return a, path
}

func accept(id string) func(http.ResponseWriter, string) {
	return func(w http.ResponseWriter, _ string) {
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write([]byte(`{"id":"` + id + `"}`))
	}
}

func breakOff(w http.ResponseWriter, _ string) {
	w.WriteHeader(http.StatusAccepted)
	_, _ = w.Write([]byte(`{"id":`))
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

func ailing(w http.ResponseWriter, _ string) { w.WriteHeader(http.StatusServiceUnavailable) }

// After no answer, a broken one, or a 503, the same key goes to the next node. A customer
// that doubts asks twice, and IDs that differ are both kept.
func TestACustomerAsksElsewhereUnderTheSameKey(t *testing.T) {
	broken, one := serve(t, breakOff)
	away, two := serve(t, ailing)
	good, three := serve(t, accept("i1"))
	c := newCustomers([]string{filepath.Join(t.TempDir(), "dead"), one, two, three})
	c.request(t.Context(), 0)
	if got, want := c.requests, (evidence.Request{Key: "demo-0", Deed: payee + " 1 0x0000000000000000", IDs: []string{"i1"}}); len(got) != 1 || !same(got[0], want) {
		t.Errorf("got requests %v, want %v", got, want)
	}
	for i, a := range []*api{broken, away, good} {
		if !slices.Equal(a.keys, []string{"demo-0"}) {
			t.Errorf("node %d got the keys %v, want demo-0 alone", i+1, a.keys)
		}
	}
	if _, again := c.asked(); again != 3 || c.refusal() != nil {
		t.Errorf("%d repeats, refusal %v; want 3 and none", again, c.refusal())
	}
	_, other := serve(t, accept("i2"))
	c.nodes = append(newCustomers([]string{other}).nodes, c.nodes[3])
	const doubted = 9
	c.request(t.Context(), doubted)
	if got := c.requests[1].IDs; len(got) != 2 || !nodeapi.Doubted(doubted) {
		t.Errorf("got IDs %v, want those of both nodes", got)
	}
	for _, node := range c.nodes {
		node.Close()
	}
}

func same(a, b evidence.Request) bool {
	return a.Key == b.Key && a.Deed == b.Deed && slices.Equal(a.IDs, b.IDs)
}

// The refusal of a valid request ends the demo.
func TestTheRefusalOfAValidRequestEndsTheDemo(t *testing.T) {
	_, path := serve(t, func(w http.ResponseWriter, _ string) { w.WriteHeader(http.StatusConflict) })
	c := newCustomers([]string{path})
	c.request(t.Context(), 1)
	if err := c.refusal(); err == nil || !strings.Contains(err.Error(), "demo-1: a node refused: 409") {
		t.Errorf("got refusal %v, want the answer 409 to demo-1", err)
	}
	s := &supervisor{traffic: &traffic{customers: c}}
	if s.refused() == nil {
		t.Error("the demo goes on")
	}
	c.nodes[0].Close()
}

// After settle customers leave when they are answered, and after close at once.
func TestCustomersLeave(t *testing.T) {
	_, path := serve(t, accept("i1"))
	c := newCustomers([]string{path})
	tr := &traffic{customers: c}
	if !tr.answered() {
		t.Error("customers that were not started wait")
	}
	tr.begin(t.Context())
	wants := func(c *customers) {
		t.Helper()
		pgtest.Eventually(t, time.Minute, "a request", func() bool { requests, _ := c.asked(); return requests > 0 })
	}
	wants(c)
	if tr.answered() {
		t.Error("they left before they were told to")
	}
	tr.settle()
	pgtest.Within(t, time.Minute, "they go", func() { <-c.over })
	c.close()
	hopeless := newCustomers([]string{filepath.Join(t.TempDir(), "dead")})
	hopeless.start(t.Context())
	wants(hopeless)
	hopeless.close()
}
