package goals

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/conchhq/conch/cmd/conch/internal/lab/nodeapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a log whose nodes are all right, but for what it is told.
type fake struct {
	mu      sync.Mutex
	entries []Entry
	asked   map[string]int // how often, by goal
	twice   bool           // a goal is executed whenever it is asked for
	away    map[string]bool
}

func (f *fake) goal(name string, w http.ResponseWriter, r *http.Request) {
	var g asked
	_ = json.NewDecoder(r.Body).Decode(&g)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked[g.GoalID]++
	if f.away[name] {
		http.Error(w, "away", http.StatusServiceUnavailable)
		return
	}
	for _, e := range f.entries {
		if e.GoalID == g.GoalID && !f.twice {
			answer(w, e)
			return
		}
	}
	i := len(f.entries)
	e := Entry{Index: uint64(i + 1), Term: 1, Hash: fmt.Sprint("h", i+1), Prev: fmt.Sprint("h", i), GoalID: g.GoalID, Leader: "a"}
	f.entries = append(f.entries, e)
	answer(w, e)
}

func answer(w http.ResponseWriter, what any) {
	text, err := json.Marshal(what)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(text)
}

func (f *fake) page(w http.ResponseWriter, r *http.Request) {
	from, _ := strconv.Atoi(r.URL.Query().Get("from"))
	f.mu.Lock()
	defer f.mu.Unlock()
	answer(w, struct {
		Entries []Entry `json:"entries"`
	}{f.entries[min(from-1, len(f.entries)):]})
}

// serve serves the API of a node.
func (f *fake) serve(t *testing.T, name string) (socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), name)
	at, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/logs/flags/goals", func(w http.ResponseWriter, r *http.Request) { f.goal(name, w, r) })
	mux.HandleFunc("GET /v1/logs/flags/entries", func(w http.ResponseWriter, r *http.Request) { f.page(w, r) })
	mux.HandleFunc("GET /v1/logs/flags/state", func(w http.ResponseWriter, _ *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		_, _ = fmt.Fprintf(w, `{"answer":{"value":%d}}`, len(f.entries))
	})
	mux.HandleFunc("GET /v1/logs/flags", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, `{"store":7,"decides":true}`) })
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(at) })
	t.Cleanup(func() {
		_ = server.Close()
		served.Wait()
	})
	return socket
}

// run loads a fake log of two nodes until so many goals were answered, and judges it.
func run(t *testing.T, f *fake, goals int) (Record, Verdict) {
	t.Helper()
	f.asked = map[string]int{}
	l := Begin(Config{Namespace: "flags", Counter: Keys, Start: time.Now(), Clients: 2, Pace: time.Millisecond})
	for _, name := range []string{"a", "b"} {
		l.Add(name, f.serve(t, name))
	}
	l.Run()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := l.Await(ctx, "b", func(s Status) bool { return s.Store == 7 && s.Decides && l.Now().Answered >= goals }); err != nil {
		t.Error(err)
	}
	l.Finish(ctx)
	for _, name := range []string{"a", "b"} {
		if err := l.Count(ctx, name); err != nil {
			t.Error(err)
		}
	}
	if now := l.Now(); now.Waiting > 0 || now.Newest.Index == 0 {
		t.Errorf("in the end it is %+v, want nothing that waits", now)
	}
	r := l.Close()
	last := r.Entries[len(r.Entries)-1]
	r.Compared = Compared{Copies: 2, Index: last.Index, Hash: last.Hash}
	return r, Judge(r)
}

// All that was asked for is answered and read, though a node is away, clients hang up and others doubt.
func TestALoad(t *testing.T) {
	t.Parallel()
	f := &fake{away: map[string]bool{"b": true}}
	r, v := run(t, f, 30)
	if len(v.Violations) > 0 || v.Goals < 30 || v.Entries != len(f.entries) {
		t.Errorf("the verdict is %+v, want no violations, and each of %d entries", v, len(f.entries))
	}
	for _, g := range r.Goals {
		n, _ := strconv.Atoi(strings.TrimPrefix(g.ID, "demo-"))
		want := 1
		if nodeapi.Doubted(n) {
			want = 2
		}
		if len(g.Answers) != want {
			t.Errorf("%s was answered %d times, want %d", g.ID, len(g.Answers), want)
		}
	}
}

// A log that executes a goal whenever it is asked for is found out.
func TestALogThatExecutesTwiceIsFoundOut(t *testing.T) {
	t.Parallel()
	if _, v := run(t, &fake{twice: true}, 30); v.Doubled == 0 {
		t.Errorf("the verdict is %+v, want goals that were executed twice", v)
	}
}

// What a log of Prolog counts is read from its first solution; one without the fact has counted nothing.
func TestClausesCount(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]uint64{`{"solutions":[{"N":"41"}],"more":false}`: 41, `{"solutions":[],"more":false}`: 0} {
		if n, err := Clauses.value(json.RawMessage(answer)); err != nil || n != want {
			t.Errorf("%s: %d, %v", answer, n, err)
		}
	}
	if _, err := Clauses.value(json.RawMessage(`{"solutions":[{"N":"many"}]}`)); err == nil {
		t.Error("many is a number")
	}
}
