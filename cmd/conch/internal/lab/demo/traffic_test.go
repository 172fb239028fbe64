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
	"github.com/conchhq/conch/cmd/conch/internal/lab/fleet"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgaccount"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// Where transactions are sent, kills go to the leader of the work, and after each that
// spared the sender to the sender.
func TestWhoIsKilledNext(t *testing.T) {
	a, b := &member{id: "a"}, &member{id: "b"}
	for _, c := range []struct {
		name                 string
		spared               bool
		worker, sender, want *member
	}{
		{"the leader of the work first", false, a, b, a},
		{"then who was spared", true, a, b, b},
		{"one who is both", false, a, a, a},
		{"nobody leads the work right now", false, nil, b, nil},
		{"nobody sends right now, and it is the sender's turn", true, a, nil, nil},
	} {
		if got := (&supervisor{spared: c.spared}).victim(c.worker, c.sender); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// A row of the database alone makes nobody a sender: it has to live, to have sent in
// this very term, and not to have been killed in it.
func TestWhoSends(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*traffic, *member)
		want   bool
	}{
		{"it has sent", func(*traffic, *member) {}, true},
		{"it has not sent yet", func(tr *traffic, _ *member) { tr.sender = 6 }, false},
		{"it was killed", func(tr *traffic, _ *member) { tr.killed = 7 }, false},
		{"it is doomed", func(_ *traffic, m *member) { m.doomed = true }, false},
		{"it is dead", func(_ *traffic, m *member) { m.process = nil }, false},
		{"another one leads", func(tr *traffic, _ *member) { tr.row.Holder = "b" }, false},
		{"its session is gone", func(tr *traffic, _ *member) { tr.row.Held = false }, false},
	} {
		tr := &traffic{row: pgops.ScopeStatus{Holder: "a", Epoch: 7, Held: true}, sender: 7, killed: 6}
		m := &member{id: "a", process: &fleet.Process{}}
		c.change(tr, m)
		if got := tr.sends(m); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// The demo ends when everything acknowledged has, and not before, unless it never does.
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
		s := &supervisor{ending: c.ending, traffic: &traffic{progress: pgaccount.Progress{Open: c.open}}}
		if got := s.over(began, c.answered); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if s := (&supervisor{ending: began}); !s.over(began, true) {
		t.Error("without transactions there is something to wait for")
	}
}

// api answers on a socket as a node might, and keeps what it was asked.
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
		var wish struct {
			Key string `json:"idempotency_key"`
		}
		_ = json.NewDecoder(r.Body).Decode(&wish)
		a.mu.Lock()
		a.keys = append(a.keys, wish.Key)
		a.mu.Unlock()
		answer(w, wish.Key)
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

// No answer, one that broke off and one that the database was away: the same key goes
// to the next node. Whoever doubts asks once more, and two IDs for one key come out.
func TestACustomerAsksElsewhereByTheSameKey(t *testing.T) {
	broken, one := serve(t, breakOff)
	away, two := serve(t, ailing)
	good, three := serve(t, accept("i1"))
	c := newCustomers([]string{filepath.Join(t.TempDir(), "dead"), one, two, three})
	c.want(t.Context(), 0)
	if got, want := c.wishes, (evidence.Wish{Key: "demo-0", Deed: payee + " 1 0x0000000000000000", IDs: []string{"i1"}}); len(got) != 1 || !same(got[0], want) {
		t.Errorf("wishes %v", got)
	}
	for i, a := range []*api{broken, away, good} {
		if !slices.Equal(a.keys, []string{"demo-0"}) {
			t.Errorf("node %d was asked for %v", i+1, a.keys)
		}
	}
	if _, again := c.asked(); again != 3 || c.complaint() != nil {
		t.Errorf("%d times again, complaint %v", again, c.complaint())
	}
	_, other := serve(t, accept("i2"))
	c.nodes = append(newCustomers([]string{other}).nodes, c.nodes[3])
	c.want(t.Context(), doubts)
	if got := c.wishes[1].IDs; len(got) != 2 {
		t.Errorf("two nodes gave two IDs, noted are %v", got)
	}
	for _, node := range c.nodes {
		node.CloseIdleConnections()
	}
}

func same(a, b evidence.Wish) bool {
	return a.Key == b.Key && a.Deed == b.Deed && slices.Equal(a.IDs, b.IDs)
}

// A node that refuses what is sound ends the demo: asking on would hide it.
func TestASoundWishMayNotBeRefused(t *testing.T) {
	_, path := serve(t, func(w http.ResponseWriter, _ string) { w.WriteHeader(http.StatusConflict) })
	c := newCustomers([]string{path})
	c.want(t.Context(), 1)
	if err := c.complaint(); err == nil || !strings.Contains(err.Error(), "demo-1: a node refused a sound transaction: 409") {
		t.Errorf("complaint %v", err)
	}
	s := &supervisor{traffic: &traffic{customers: c}}
	if s.refused() == nil {
		t.Error("the demo goes on")
	}
	c.nodes[0].CloseIdleConnections()
}

// Customers that may want nothing more go once they are answered, and those that may
// hope no longer go at once.
func TestCustomersGo(t *testing.T) {
	_, path := serve(t, accept("i1"))
	c := newCustomers([]string{path})
	tr := &traffic{customers: c}
	if !tr.answered() {
		t.Error("who never came waits")
	}
	tr.begin(t.Context())
	wants := func(c *customers) {
		t.Helper()
		pgtest.Eventually(t, time.Minute, "a wish", func() bool { wishes, _ := c.asked(); return wishes > 0 })
	}
	wants(c)
	if tr.answered() {
		t.Error("they went before they were told to")
	}
	tr.settle()
	pgtest.Within(t, time.Minute, "they go", func() { <-c.over })
	c.close()
	hopeless := newCustomers([]string{filepath.Join(t.TempDir(), "dead")})
	hopeless.open(t.Context())
	wants(hopeless)
	hopeless.close()
}
