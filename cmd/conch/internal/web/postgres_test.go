package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/cmd/conch/internal/metric"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

// node is a real elector with a site over a real database.
type node struct {
	*election.Elector
	site   *web.Site
	ln     net.Listener
	c      *http.Client
	cfg    pgmint.Config
	warmed atomic.Int64
}

func (n *node) Scopes() []string { return []string{"payments"} }

func newNode(t *testing.T, db *pgtest.DB, id string, tokens *web.Tokens) *node {
	t.Helper()
	cfg := pgmint.Config{URL: db.URL, AppName: "web " + id}
	mint, err := pgmint.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	n := &node{c: webtest.Client(t, &http.Transport{}), cfg: cfg}
	// The collector comes first: the elector sends its events to it.
	measured := metric.New([]string{"payments"}, func(scope string) *fence.Gate { return n.Gate(scope) }, nil)
	n.Elector, err = election.New(election.Config{
		Mint: mint, ID: id, Lease: 2 * time.Second, Roles: []election.Role{{Scope: "payments", Warm: func(context.Context) error { n.warmed.Add(1); return nil }}},
		Events: measured.Events(), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	n.site, err = web.New(web.Config{
		ID: id, Electors: n, Metrics: metric.Page(measured), Tokens: tokens, Logger: slog.New(slog.DiscardHandler),
		Observe: func(ctx context.Context) (web.Observer, error) { return pgops.Observe(ctx, cfg) },
		Ask: func(ctx context.Context, r pgops.Request) error {
			_, err := pgops.Ask(ctx, cfg, r, func(string) {})
			return err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(mint.Close)
	t.Cleanup(n.site.Close)
	n.ln = listen(t, nil)
	webtest.Serve(t, n.site, n.ln)
	return n
}

// campaign runs the elector and carries out operators' requests until the test ends.
func (n *node) campaign(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done, deaf := make(chan error, 1), make(chan struct{})
	go func() { done <- n.Run(ctx) }()
	go func() { defer close(deaf); pgops.Obey(ctx, n.cfg, n.ID(), n.Elector) }()
	t.Cleanup(func() {
		cancel()
		pgtest.Within(t, time.Minute, n.ID()+" ends", func() {
			<-deaf
			if err := <-done; err != nil {
				t.Errorf("%s ended with %v, want no error", n.ID(), err)
			}
		})
	})
}

func (n *node) leads(t *testing.T) fence.Token {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	token, err := n.Gate("payments").Wait(ctx, fence.Act)
	if err != nil {
		t.Fatalf("%s does not lead: %v", n.ID(), err)
	}
	return token
}

// ask sends one request and compares the answer with the document.
func (n *node) ask(t *testing.T, what, secret string) (status int, body map[string]any, text string) {
	t.Helper()
	method, rest, _ := strings.Cut(what, " ")
	path, sent, _ := strings.Cut(rest, " ")
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+n.ln.Addr().String()+path, strings.NewReader(sent))
	if err != nil {
		t.Fatal(err)
	}
	if sent != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if secret != "" {
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	answer, err := n.c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	var document any = string(raw)
	if strings.Contains(answer.Header.Get("Content-Type"), "json") {
		if err := json.Unmarshal(raw, &document); err != nil {
			t.Fatalf("%s: %v in %s", what, err, raw)
		}
	}
	s := webtest.Read(t)
	for _, f := range s.Check(s.Operation(r), answer.StatusCode, answer.Header.Get("Content-Type"), document) {
		t.Error(f)
	}
	body, _ = document.(map[string]any)
	return answer.StatusCode, body, string(raw)
}

// shows fails the test unless /metrics has each line.
func (n *node) shows(t *testing.T, when string, lines ...string) {
	t.Helper()
	_, _, page := n.ask(t, "GET /metrics", webtest.OperateSecret)
	for _, l := range lines {
		if !strings.Contains(page, "\n"+l) {
			t.Errorf("%s: /metrics of %s has no %q", when, n.ID(), l)
		}
	}
}

// Tokens, gate, drain, history, streams and metrics, with two nodes over one database.
func TestOverPostgres(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	w := newWorld()
	w.protect(t)
	a := newNode(t, db, "a", w.cfg.Tokens)
	a.shows(t, "at the start",
		`conch_leader_acquired_total{scope="payments"} 0`, `conch_leader_epoch{scope="payments"} 0`, `conch_is_leader{scope="payments"} 0`,
		`conch_leadership_lost_total{reason="deposed",scope="payments"} 0`, `conch_acquire_latency_ms_count{scope="payments"} 0`)
	if status, body, _ := a.ask(t, gatePath, webtest.ReadSecret); status != 503 || body["leader"] != any(false) {
		t.Errorf("the gate without a leader: status %d, body %v; want 503 and false", status, body)
	}

	a.campaign(t)
	first := a.leads(t)
	status, body, _ := a.ask(t, gatePath, webtest.ReadSecret)
	left, _ := body["expires_in_ms"].(float64)
	if status != 200 || body["epoch"] != any(float64(first.Epoch)) || body["term"] != any(first.Term.String()) || left < 1 || left > 1800 {
		t.Errorf("the leader's gate: status %d, body %v; want 200, its token and at most 1800 ms", status, body)
	}
	b := newNode(t, db, "b", w.cfg.Tokens)
	b.campaign(t)
	pgtest.Eventually(t, 20*time.Second, "b to follow", func() bool {
		_, body, _ := b.ask(t, gatePath, webtest.ReadSecret)
		return body["holder"] == any("a")
	})

	for secret, want := range map[string]int{"": 401, "wrong-0123456789abcdef": 401, webtest.ReadSecret: 403} {
		if status, _, _ := a.ask(t, drainPath, secret); status != want {
			t.Errorf("a drain with the token %q: status %d, want 401 for unknown tokens and 403 for one that may read", secret, status)
		}
	}
	if status, body, _ := b.ask(t, drainPath+` {"to":"a"}`, webtest.OperateSecret); status != 422 || body["holder"] != any("a") {
		t.Errorf("a transfer to the holder: status %d, body %v; want 422 and holder a", status, body)
	}

	events := follow(t, b.ln, "/v1/events", "Authorization: Bearer "+webtest.ReadSecret)
	if status, body, _ := a.ask(t, drainPath, webtest.OperateSecret); status != 200 || body["actor"] != any("ops") {
		t.Fatalf("a drain: status %d, body %v; want 200 and actor ops", status, body)
	}
	if status, body, _ := a.ask(t, gatePath, webtest.ReadSecret); status != 503 || body["leader"] != any(false) {
		t.Errorf("the gate after the drain: status %d, body %v; want 503 and false", status, body)
	}
	events.expectAll("2:drained", "3:acquired") // in any order
	events.close()
	follow(t, a.ln, "/v1/events", "Authorization: Bearer "+webtest.ReadSecret, "Last-Event-ID: 1").expectAll("2:drained", "3:acquired")

	second := b.leads(t)
	if status, body, _ := b.ask(t, gatePath, webtest.ReadSecret); status != 200 || body["epoch"] != any(float64(second.Epoch)) || second.Epoch != first.Epoch+1 {
		t.Errorf("the successor's gate: status %d, body %v; want 200 and the next epoch", status, body)
	}
	_, history, _ := b.ask(t, "GET /v1/history?scope=payments", webtest.ReadSecret)
	if list, _ := history["events"].([]any); len(list) != 3 || list[1].(map[string]any)["actor"] != any("ops") {
		t.Errorf("the history is %v, want three events, the second by ops", history)
	}
	_, scope, _ := a.ask(t, "GET /v1/scopes/payments", webtest.ReadSecret)
	if scope["holder"] != any("b") || scope["held"] != any(true) || len(scope["candidates"].([]any)) != 2 || scope["here"].(map[string]any)["role"] != any("follower") {
		t.Errorf("the scope is %v, want it held by b, with two candidates and a as a follower", scope)
	}
	a.shows(t, "after the drain",
		`conch_leader_acquired_total{scope="payments"} 1`, `conch_leader_epoch{scope="payments"} 0`, `conch_is_leader{scope="payments"} 0`,
		`conch_leader_failovers_total{scope="payments"} 0`, `conch_leadership_lost_total{reason="stepped_down",scope="payments"} 1`)
	b.shows(t, "as the successor", `conch_is_leader{scope="payments"} 1`, `conch_leader_epoch{scope="payments"} 2`, `conch_leader_elections_total{scope="payments"} 1`)
	// A follower passes a drain on. With a successor it is a transfer.
	if status, body, _ := a.ask(t, drainPath+` {"to":"a"}`, webtest.OperateSecret); status != 200 || body["to"] != any("a") {
		t.Errorf("a transfer asked of a follower: status %d, body %v; want 200 and a as the successor", status, body)
	}
	if third := a.leads(t); third.Epoch != second.Epoch+1 || a.warmed.Load() != 1 {
		t.Errorf("epoch %d, and the successor was warmed %d times; want the next epoch and once", third.Epoch, a.warmed.Load())
	}
	if status, _, _ := b.ask(t, drainPath, webtest.OperateSecret); status != 200 {
		t.Errorf("a drain asked of a follower: status %d, want 200", status)
	}
	if last := b.leads(t); last.Epoch != second.Epoch+2 {
		t.Errorf("epoch %d after a drain asked of a follower, want the next epoch", last.Epoch)
	}
}

// No request fails because the server ended an idle connection.
func TestReadsSurviveABrokenConnection(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	a := newNode(t, db, "a", nil)
	c := db.Connect(t)
	for range 2 {
		if status, body, _ := a.ask(t, "GET /v1/scopes", ""); status != 200 || body["stale"] != nil {
			t.Errorf("reading scopes: status %d, body %v; want 200, not stale", status, body)
		}
		var ended int
		err := c.QueryRow(t.Context(), `SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity
			WHERE application_name = 'web a observer' AND datname = current_database()`).Scan(&ended)
		if err != nil || ended != 1 {
			t.Fatalf("the server ended %d connections, %v; want 1", ended, err)
		}
	}
	if status, _, _ := a.ask(t, "GET /readyz", ""); status != 200 {
		t.Errorf("/readyz: status %d, want 200", status)
	}
}

// One bid writes a thousand events, and later events are committed first: a stream has all.
func TestStreamOfALateCommit(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db := pgtest.New(t)
	a := newNode(t, db, "a", nil)
	slow, quick := db.Connect(t), db.Connect(t)
	exec := func(c *pgx.Conn, sql string) {
		t.Helper()
		if _, err := c.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	const record = `INSERT INTO conch.leadership_history (scope, epoch, holder, event) SELECT 's', g, 'x', 'acquired' FROM generate_series(1, %d) g`
	s := follow(t, a.ln, "/v1/events")
	exec(slow, `BEGIN`)
	exec(slow, fmt.Sprintf(record, 1000))
	exec(quick, fmt.Sprintf(record, 300))
	if got := s.events(300); got[0] != "1001:acquired" || got[299] != "1300:acquired" {
		t.Errorf("the stream has %s to %s, want 1001 to 1300", got[0], got[299])
	}
	exec(slow, `COMMIT`)
	if got := s.events(1000); got[0] != "1:acquired" || got[999] != "1000:acquired" {
		t.Errorf("the stream has %s to %s, want 1 to 1000", got[0], got[999])
	}
}
