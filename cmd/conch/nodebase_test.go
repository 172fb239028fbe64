//go:build unix

package main_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
)

func status(t *testing.T, url, token string) int {
	t.Helper()
	return asked(t, http.MethodGet, url, token)
}

func asked(t *testing.T, method, url, token string) int {
	t.Helper()
	header := http.Header{}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	code, _ := sends(t, method, url, "", header)
	return code
}

// sends sends a request over a connection of its own, and returns the answer.
func sends(t testing.TB, method, url, body string, header http.Header) (code int, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longPatience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	if header != nil {
		req.Header = header
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	all, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(all)
}

var inJSON = http.Header{"Content-Type": {"application/json"}}

func get(t *testing.T, url string) (int, map[string]any) {
	t.Helper()
	code, text := page(t, url)
	var body map[string]any
	_ = json.Unmarshal([]byte(text), &body)
	return code, body
}

func page(t *testing.T, url string) (int, string) {
	t.Helper()
	return sends(t, http.MethodGet, url, "", nil)
}

// The database restarts under a node: the gate shuts, the log says so loudly, and the node
// recovers by itself. (S21, F5)
func TestTheDatabaseRestarts(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, postmaster.Config{})
	url := server.URL("postgres")
	conch(t, "--db", url, "migrate", "up").done(t)
	w := newCoworker(t)
	n := startDaemon(t, "n1", url, "listen = \"127.0.0.1:0\"\nops_listen = \"127.0.0.1:0\"\n[election]\nlease = \"3s\"\n"+
		"[[roles]]\nname = \"payments\"\nbuiltin = \"log\"\n"+w.role("mails", ""))
	n.says("leading", "scope", "payments")
	w.wants(t, "mails", "n1")
	ops := "http://" + n.value("serving health and metrics", "address")
	if code, text := page(t, ops+"/metrics"); code != 200 || !strings.Contains(text, `conch_is_leader{scope="payments"} 1`) {
		t.Errorf("/metrics: status %d, body %s; want 200 and the leader", code, text)
	}
	if code, _ := page(t, ops+"/readyz"); code != 200 {
		t.Errorf("/readyz: status %d, want 200", code)
	}
	if code, text := page(t, ops+"/v1/scopes"); code != 404 || !strings.Contains(text, "the API has another") {
		t.Errorf("the API on the ops listener: status %d, body %s; want 404 and a hint", code, text)
	}
	gate := "http://" + n.value("serving the API", "address") + "/v1/scopes/payments/gate"
	if code, body := get(t, gate); code != 200 || !body["leader"].(bool) || body["epoch"] != 1.0 {
		t.Errorf("the gate: status %d, body %v; want 200 and epoch 1", code, body)
	}
	server.Kill9()
	n.says("DATABASE UNREACHABLE", "role", "FOLLOWER", "level", "ERROR")
	pgtest.Eventually(t, patience, "the gate is shut", func() bool { code, body := get(t, gate); return code == 503 && !body["leader"].(bool) })
	w.wants(t, "mails", "") // the callback is told to stop: nothing else would stop it
	if err := server.StartAgain(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.says("database recovered")
	pgtest.Eventually(t, patience, "it leads again", func() bool { code, body := get(t, gate); return code == 200 && body["epoch"].(float64) > 1 })
	w.wants(t, "mails", "n1")
	if _, text := page(t, ops+"/metrics"); !strings.Contains(text, `conch_leader_acquired_total{scope="payments"} 2`) {
		t.Errorf("/metrics after two terms: %s, want two acquisitions", text)
	}
	if loud := n.count("DATABASE UNREACHABLE"); loud > 3 {
		t.Errorf("the outage was logged %d times within seconds, want 3 at most", loud)
	}
	if code := n.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

// A node that starts without its database follows, says so loudly, and leads nothing. (F5)
func TestADatabaseThatIsDownAtTheStart(t *testing.T) {
	t.Parallel()
	n := startDaemon(t, "n1", "postgres://conch@127.0.0.1:1/app", "[[roles]]\nname = \"payments\"\nbuiltin = \"log\"\n")
	n.says("DATABASE UNREACHABLE")
	if code := n.stop(syscall.SIGTERM); code != 0 || n.count("leading") > 0 {
		t.Errorf("exit code %d, want 0, and no leading", code)
	}
}
