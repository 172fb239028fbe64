package ui_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/ui"
)

// row and event are as the API's document has them.
type row struct {
	Scope          string    `json:"scope"`
	State          string    `json:"state"`
	Epoch          int64     `json:"epoch"`
	Holder         string    `json:"holder"`
	AcquiredAt     time.Time `json:"acquired_at"`
	HeartbeatAgeMS int64     `json:"heartbeat_age_ms"`
	LeaseMS        int64     `json:"lease_ms"`
	Candidates     []string  `json:"candidates"`
	Obstacle       string    `json:"obstacle,omitempty"`
	Failures       int64     `json:"failures,omitempty"`
	LastFailure    string    `json:"last_failure,omitempty"`
}

type event struct {
	ID     int64     `json:"id"`
	At     time.Time `json:"at"`
	Scope  string    `json:"scope"`
	Epoch  int64     `json:"epoch"`
	Holder string    `json:"holder"`
	Event  string    `json:"event"`
	Reason string    `json:"reason"`
	Actor  string    `json:"actor"`
	GapMS  *int64    `json:"gap_ms,omitempty"`
}

// node is a stand-in for one: it serves the page, and says what a test wants it to.
type node struct {
	*httptest.Server
	document
	mu               sync.Mutex
	rows             []row
	events           []event
	version          uint64
	awaySince, began time.Time
	held             bool   // a proxy holds the stream back
	read             string // the token that reads, and
	operate          string // the one that operates; empty: none
	drains           []map[string]any
	parts            []string // of the session
	services         *services
	tokens           []string // that came with requests
	open             map[chan string]struct{}
	opened           int
	ended            chan struct{}
	ledger           ledger
	work             *work  // what it says of processes, crons and jobs
	bells            bells  // and of alerts
	lost             string // paths that begin so are not answered
}

// newNode serves below a path, "/" or longer.
func newNode(t *testing.T, below string) *node {
	t.Helper()
	pages, err := ui.Pages()
	if err != nil {
		t.Fatal(err)
	}
	n := &node{document: theDocument(t), began: time.Now(), parts: []string{"accounts", "alerts", "contracts", "doctor", "files", "jobs", "gossip", "logs", "node", "scopes"}, open: map[chan string]struct{}{}, ended: make(chan struct{})}
	mux := http.NewServeMux()
	for path, page := range pages {
		if path == "/" {
			path = "/{$}"
		}
		mux.Handle("GET "+path, page)
	}
	api := func(path string, serve func(w http.ResponseWriter, r *http.Request)) {
		mux.HandleFunc(path, n.compared(func(w http.ResponseWriter, r *http.Request) {
			if n.admits(w, r) {
				serve(w, r)
			}
		}))
	}
	api("GET /v1/session", n.session)
	api("GET /v1/scopes", n.scopes)
	api("GET /v1/history", n.history)
	api("GET /v1/events", n.stream)
	api("POST /v1/drain", n.drain)
	n.work = newWork(n, api)
	api("/v1/", n.service)
	n.serveLedger(api)
	n.serveAlerts(api)
	n.Server = httptest.NewServer(http.StripPrefix(strings.TrimSuffix(below, "/"), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.mu.Lock()
		lost := n.lost != "" && strings.HasPrefix(r.URL.Path, n.lost)
		n.mu.Unlock()
		if lost {
			http.NotFound(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})))
	t.Cleanup(func() {
		close(n.ended)
		n.Server.Close()
	})
	go n.beat()
	return n
}

func (n *node) admits(w http.ResponseWriter, r *http.Request) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	token := r.Header.Get("Conch-Token")
	n.tokens = append(n.tokens, token)
	switch {
	case n.read == "" || token == n.operate || token == n.read && r.Method == http.MethodGet:
		return true
	case token == n.read:
		refuse(w, http.StatusForbidden, "the token may read, not operate")
	default:
		refuse(w, http.StatusUnauthorized, "the token is not known")
	}
	return false
}

func refuse(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = w.Write(encoded(map[string]any{"type": "about:blank", "title": http.StatusText(status), "status": status, "detail": detail}))
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(encoded(v))
}

func encoded(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // what tests answer can be written
	}
	return text
}

func (n *node) session(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	may, name := "operate", "local"
	if n.read != "" {
		name = "alice"
		if r.Header.Get("Conch-Token") == n.read {
			may = "read"
		}
	}
	said := map[string]any{"name": name, "may": may, "tokens": n.read != "", "node": "node-2", "cluster": "prod-eu", "version": "v1.2.3", "parts": n.parts, "now": time.Now().UTC()}
	answer(w, said)
}

// source needs the lock.
func (n *node) source() map[string]any {
	if n.services != nil && n.services.alone {
		return map[string]any{"database": "none", "since": n.began.UTC(), "for_ms": 0}
	}
	if !n.awaySince.IsZero() {
		return map[string]any{"database": "away", "since": n.awaySince.UTC(), "for_ms": time.Since(n.awaySince).Milliseconds(), "why": "connection refused"}
	}
	return map[string]any{"database": "up", "since": n.began.UTC(), "for_ms": time.Since(n.began).Milliseconds()}
}

func (n *node) scopes(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if r.URL.Query().Get("view") != "dense" {
		refuse(w, http.StatusBadRequest, "the page asks for dense rows")
		return
	}
	counts := map[string]int{"total": len(n.rows), "nobody": 0, "late": 0, "fails": 0, "holding": 0, "released": 0, "led": 0}
	for _, r := range n.rows {
		counts[r.State]++
	}
	answer(w, map[string]any{"as_of": time.Now().UTC(), "version": n.version, "source": n.source(), "counts": counts, "found": len(n.rows), "rows": append([]row{}, n.rows...)})
}

func (n *node) history(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.awaySince.IsZero() {
		refuse(w, http.StatusServiceUnavailable, "connection refused")
		return
	}
	q := r.URL.Query()
	limit, _ := strconv.Atoi(q.Get("limit"))
	before, err := strconv.ParseInt(q.Get("before"), 10, 64)
	found := []event{}
	for _, e := range n.events {
		if (err != nil || e.ID < before) && (q.Get("scope") == "" || q.Get("scope") == e.Scope) {
			found = append(found, e)
		}
	}
	answer(w, map[string]any{"as_of": time.Now().UTC(), "events": found[max(0, len(found)-limit):]})
}

func (n *node) drain(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body)
	n.mu.Lock()
	n.drains = append(n.drains, body)
	n.mu.Unlock()
	answer(w, map[string]any{"scope": body["scope"], "actor": "bob"})
}

func (n *node) stream(w http.ResponseWriter, r *http.Request) {
	tell := make(chan string, 1000)
	n.mu.Lock()
	held := n.held
	if !held {
		n.open[tell] = struct{}{}
		n.opened++
		tell <- "retry: 2000\n\n" + n.said("source", n.source()) + n.said("beats", n.beats())
	}
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		delete(n.open, tell)
		n.mu.Unlock()
	}()
	if !held {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	for {
		select {
		case <-n.ended:
			return
		case <-r.Context().Done():
			return
		case text, more := <-tell:
			if !more {
				return
			}
			_, _ = w.Write([]byte(text))
			_ = http.NewResponseController(w).Flush()
		}
	}
}

func (n *node) said(kind string, v any) string {
	return fmt.Sprintf("event: %s\ndata: %s\n\n", kind, n.event(kind, v))
}

// beats needs the lock.
func (n *node) beats() map[string]any {
	of := map[string]map[string]any{}
	holders := []map[string]any{}
	for _, r := range n.rows {
		if of[r.Holder] == nil && r.State != "nobody" && r.State != "released" {
			of[r.Holder] = map[string]any{"holder": r.Holder, "age_ms": r.HeartbeatAgeMS, "scopes": 1, "late": 0, "holding": 0}
			holders = append(holders, of[r.Holder])
		}
	}
	return map[string]any{"as_of": time.Now().UTC(), "holders": holders}
}

// tell needs the lock.
func (n *node) tell(text string) {
	for one := range n.open {
		select {
		case one <- text:
		default:
		}
	}
}

// beat tells the heartbeats each second, as a node does whose database answers.
func (n *node) beat() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-n.ended:
			return
		case <-tick.C:
			n.mu.Lock()
			if n.awaySince.IsZero() {
				n.tell(n.said("beats", n.beats()))
			} else {
				n.tell(": alive\n\n")
			}
			n.mu.Unlock()
		}
	}
}

// set replaces rows, and tells those that watch.
func (n *node) set(rows ...row) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rows = rows
	n.version++
	n.tell(n.said("scope", map[string]any{"as_of": time.Now().UTC(), "version": n.version, "rows": rows, "gone": []string{}}))
}

// again is the node after a restart: it counts its readings from the first, and its streams have ended.
func (n *node) again(rows ...row) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rows, n.version = rows, 1
	for one := range n.open {
		close(one)
	}
	n.open = map[chan string]struct{}{}
}

// happened adds events to the history, and tells those that watch.
func (n *node) happened(events ...event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range events {
		e.ID = int64(len(n.events) + 1)
		n.events = append(n.events, e)
		n.tell(fmt.Sprintf("id: %d\ndata: %s\n\n", e.ID, n.event("", e)))
	}
}

// away says that the database is away since some time, or up again: then a stream ends, for its client to come back.
func (n *node) away(since time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.awaySince = time.Time{}
	if since > 0 {
		n.awaySince = time.Now().Add(-since)
	}
	n.tell(n.said("source", n.source()))
}

// streams returns how many are open now, and how many were opened.
func (n *node) streams() (now, ever int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.open), n.opened
}
