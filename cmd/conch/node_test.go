//go:build unix

package main_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/runtest"
)

// During a rolling restart of three nodes, no gap exceeds a handover, and no role runs twice.
func TestThreeNodesTwoRolesAndARollingRestart(t *testing.T) {
	t.Parallel()
	db, w := migrated(t), newCoworker(t)
	nodes := map[string]*daemon{}
	roles := w.role("payments", "preferred = [\"n1\"]") + w.role("reports", "preferred = [\"n2\"]")
	for _, id := range []string{"n1", "n2", "n3"} {
		nodes[id] = startDaemon(t, id, db.URL, roles)
		for _, scope := range []string{"payments", "reports"} {
			nodes[id].says("leadership", "scope", scope)
		}
	}
	for _, scope := range []string{"payments", "reports"} {
		pgtest.Eventually(t, patience, scope+" is led", func() bool { return w.leader(scope) != "" })
	}
	for _, id := range slices.Sorted(maps.Keys(nodes)) {
		n := nodes[id]
		if code := n.stop(syscall.SIGTERM); code != 0 {
			t.Errorf("%s ended with exit code %d, want 0", id, code)
		}
		n.says("node ended")
		for _, scope := range []string{"payments", "reports"} {
			pgtest.Eventually(t, patience, scope+" is led by another", func() bool { l := w.leader(scope); return l != "" && l != id })
		}
		before := n.count("node started")
		n.start()
		pgtest.Eventually(t, patience, id+" is back", func() bool { return n.count("node started") > before })
		pgtest.Eventually(t, patience, id+" campaigns", func() bool {
			s := decode[[]map[string]any](t, conch(t, "--db", db.URL, "status", "--json").done(t))
			return slices.Contains(s[0]["candidates"].([]any), any(id)) && slices.Contains(s[1]["candidates"].([]any), any(id))
		})
	}
	for _, scope := range []string{"payments", "reports"} {
		judgeHandoffs(t, w.seen("", scope), longestHandoff)
	}
}

// longestHandoff allows for a missed wake, after which a successor polls within a third of its
// lease, and for a busy machine.
const longestHandoff = 5 * time.Second

// judgeHandoffs checks that each term ended before the next began, and logs the gaps.
func judgeHandoffs(t *testing.T, calls []told, most time.Duration) {
	t.Helper()
	var last *told
	var gaps []time.Duration
	for i, c := range calls {
		switch {
		case c.Verb == "start" && last != nil:
			gap := c.At.Sub(last.Done)
			gaps = append(gaps, gap)
			if last.Verb != "stop" || gap < 0 || gap > most {
				t.Errorf("%s began epoch %d %s after the %s of epoch %d, want a start after a stop, without a long gap", c.ID, c.Epoch, gap, last.Verb, last.Epoch)
			}
			last = &calls[i]
		case c.Verb == "start" || c.Verb == "stop":
			last = &calls[i]
		}
	}
	if len(gaps) == 0 {
		t.Errorf("the calls are %+v, want a handover among them", calls)
	}
	t.Logf("from the stop of one to the start of the next: %v", gaps)
}

func TestDrainAndTransfer(t *testing.T) {
	t.Parallel()
	db, w := migrated(t), newCoworker(t)
	startDaemon(t, "n1", db.URL, w.role("payments", ""))
	w.wants(t, "payments", "n1")
	conch(t, "--db", db.URL, "transfer", "--scope", "payments", "--to", "n2").refused(t, 1, "n2 is no candidate")
	two := startDaemon(t, "n2", db.URL, w.role("payments", ""))
	two.says("leadership following", "scope", "payments")
	three := startDaemon(t, "n3", db.URL, w.role("payments", ""))
	three.says("leadership following", "scope", "payments")

	r := conch(t, "--db", db.URL, "transfer", "--scope", "payments", "--to", "n3", "--json")
	got := decode[map[string]any](t, r.done(t))
	if len(got) != 4 || got["scope"] != "payments" || got["from"] != "n1" || got["epoch"] != 1.0 || got["state"] != "done" {
		t.Errorf("transfer prints %v, want it done, from n1, of epoch 1", got)
	}
	if !strings.Contains(r.err, "asked n1") {
		t.Errorf("stderr is %q, want progress", r.err)
	}
	w.wants(t, "payments", "n3")

	text := conch(t, "--db", db.URL, "drain", "--scope", "payments").done(t)
	if !strings.Contains(text, `n3 gave up "payments", epoch 2`) {
		t.Errorf("drain prints %q, want that n3 gave up payments", text)
	}
	pgtest.Eventually(t, patience, "another leads", func() bool { l := w.leader("payments"); return l == "n1" || l == "n2" })
	judgeHandoffs(t, w.seen("", "payments"), longestHandoff)

	var actors []string
	for line := range strings.Lines(conch(t, "--db", db.URL, "history", "--scope", "payments", "--json").done(t)) {
		if e := decode[map[string]any](t, line); e["event"] == "drained" || e["event"] == "transferred" {
			actors = append(actors, e["event"].(string)+" "+e["actor"].(string))
		}
	}
	if len(actors) != 2 || !strings.HasPrefix(actors[0], "transferred ") || !strings.Contains(actors[1], "@") {
		t.Errorf("the history shows %v, want a transfer and a drain with their actors", actors)
	}
	conch(t, "--db", db.URL, "drain", "--scope", "nobody's").refused(t, 1, "conch: nobody leads")
}

// A drain waits for an act of five seconds. The successor begins after that.
func TestDrainDuringALongAct(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, w := migrated(t), newCoworker(t)
	w.stopping = func(c told) {
		if c.ID == "n1" {
			<-time.After(5 * time.Second)
		}
	}
	startDaemon(t, "n1", db.URL, w.role("payments", ""))
	w.wants(t, "payments", "n1")
	startDaemon(t, "n2", db.URL, w.role("payments", "")).says("leadership following")
	began := time.Now()
	conch(t, "--db", db.URL, "drain", "--scope", "payments", "--timeout", "20s").done(t)
	if took := time.Since(began); took < 4500*time.Millisecond {
		t.Errorf("the drain returned after %s, want it to wait for the act of 5s", took)
	}
	w.wants(t, "payments", "n2")
	judgeHandoffs(t, w.seen("", "payments"), longestHandoff)
}

// The scope of a callback that does not acknowledge its stop is not released.
func TestAStopThatIsNotAcknowledgedIsNotReleased(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, w := migrated(t), newCoworker(t)
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	w.stopping = func(told) { <-hold }
	n := startDaemon(t, "n1", db.URL, w.role("payments", "drain_timeout = \"1s\""))
	w.wants(t, "payments", "n1")
	r := conch(t, "--db", db.URL, "drain", "--scope", "payments", "--json") // within the role's drain timeout
	if got := decode[map[string]any](t, r.out); r.code != 1 || got["state"] != "failed" {
		t.Errorf("drain: exit code %d, output %v; want 1 and failed", r.code, got)
	}
	n.says("leadership abandoned")
	s := decode[[]map[string]any](t, conch(t, "--db", db.URL, "status", "--json").done(t))
	if s[0]["released"].(bool) {
		t.Errorf("the status is %v, want it not released", s)
	}
	if code := n.stop(syscall.SIGTERM); code != 1 && code != 0 {
		t.Errorf("exit code %d, want 0 or 1", code)
	}
	s = decode[[]map[string]any](t, conch(t, "--db", db.URL, "status", "--json").done(t))
	if s[0]["released"].(bool) {
		t.Errorf("the status after the node's end is %v, want it not released", s)
	}
}

// A role whose start fails gives up its scope, and another node leads.
func TestAStartThatFails(t *testing.T) {
	t.Parallel()
	db, w := migrated(t), newCoworker(t)
	w.failing = func(c told) bool { return c.ID == "n1" }
	n := startDaemon(t, "n1", db.URL, w.role("payments", ""))
	n.says("leadership released")
	startDaemon(t, "n2", db.URL, w.role("payments", ""))
	w.wants(t, "payments", "n2")
	if len(w.seen("stop", "payments")) == 0 {
		t.Error("got no stop after a start that failed but may have worked, want one")
	}
}

// A program refuses start and stop, as a proxy does whose backend is gone: the scope is abandoned
// without a release, and another node leads.
func TestAStartAndAStopThatFail(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, w := migrated(t), newCoworker(t)
	broken := func(c told) bool { return c.ID == "n1" }
	w.failing, w.refusing = broken, broken
	n := startDaemon(t, "n1", db.URL, w.role("payments", "drain_timeout = \"1s\""))
	n.says("the stop callback is not acknowledged")
	n.says("the role failed, its scope is given up", "scope", "payments")
	startDaemon(t, "n2", db.URL, w.role("payments", "drain_timeout = \"1s\""))
	w.wants(t, "payments", "n2")
	if n.count("leadership released") > 0 {
		t.Error("the leadership was released, want it not: no stop was acknowledged")
	}
}

// A command role: its environment, its end by itself, and a handover by SIGTERM.
func TestACommandRole(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	const role = "[election]\nlease = \"3s\"\n[[roles]]\nname = \"payments\"\n" +
		`command = ["sh", "-c", "echo at work $CONCH_SCOPE $CONCH_EPOCH $CONCH_ID; exec sleep 1000"]` + "\n"
	one := startDaemon(t, "n1", db.URL, role)
	one.says("at work payments 1 n1")
	two := startDaemon(t, "n2", db.URL, role)
	two.says("leadership following", "scope", "payments")
	if code := one.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	one.says("leadership released")
	two.says("at work payments 2 n2")
	fails := startDaemon(t, "n3", db.URL, "[[roles]]\nname = \"broken\"\ncommand = \"sh -c 'exit 7'\"\n")
	fails.says("leadership draining", "reason", "the role ended: the command ended with code 7")
}

// A second SIGTERM hurries the node: a command that ignored the first is killed.
func TestASecondSignalHurries(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db := migrated(t)
	n := startDaemon(t, "n1", db.URL, "[[roles]]\nname = \"payments\"\nlease = \"1m\"\ndrain_timeout = \"1m\"\n"+
		`command = ["sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 1; done"]`+"\n")
	n.says("deaf")
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	n.says("leadership draining")
	began := time.Now()
	if code := n.stop(syscall.SIGTERM); code != 0 || time.Since(began) > 15*time.Second {
		t.Errorf("exit code %d after %s, want 0 within 15s", code, time.Since(began))
	}
	s := decode[[]map[string]any](t, conch(t, "--db", db.URL, "status", "--json").done(t))
	if !s[0]["released"].(bool) {
		t.Errorf("the status is %v, want it released: all had ended", s)
	}
}

// A hurried node neither waits for a callback that has not acknowledged, nor releases its scope.
func TestHasteMakesNoPromise(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, w := migrated(t), newCoworker(t)
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	w.stopping = func(told) { <-hold }
	n := startDaemon(t, "n1", db.URL, w.role("payments", "drain_timeout = \"1m\""))
	w.wants(t, "payments", "n1")
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	n.says("leadership draining")
	if code := n.stop(syscall.SIGTERM); code != 1 || n.count("told to hurry") == 0 {
		t.Errorf("exit code %d, want 1 and a line of the log", code)
	}
	s := decode[[]map[string]any](t, conch(t, "--db", db.URL, "status", "--json").done(t))
	if s[0]["released"].(bool) {
		t.Errorf("the status is %v, want it not released", s)
	}
}

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
	api := "http://" + n.value("serving the API", "address")
	gate := api + "/v1/scopes/payments/gate"
	if code, body := get(t, gate); code != 200 || !body["leader"].(bool) || body["epoch"] != 1.0 {
		t.Errorf("the gate: status %d, body %v; want 200 and epoch 1", code, body)
	}
	asks := func(args ...string) result { return conch(t, append([]string{"gate", "--node", api}, args...)...) }
	if out := asks("--scope", "payments").done(t) + asks("--scope", "payments", "--door", "fenced").done(t); out != "" {
		t.Errorf("conch gate prints %q, want nothing", out)
	}
	if out := asks("--scope", "payments", "--json").done(t); !strings.Contains(out, `"leader":true,"epoch":1,`) {
		t.Errorf("conch gate --json prints %q", out)
	}
	asks("--scope", "nobody").refused(t, 2, "nobody")
	server.Kill9()
	n.says("DATABASE UNREACHABLE", "role", "FOLLOWER", "level", "ERROR")
	pgtest.Eventually(t, patience, "the gate is shut", func() bool { code, body := get(t, gate); return code == 503 && !body["leader"].(bool) })
	if r := asks("--scope", "payments"); r.code != 1 || r.out+r.err != "" {
		t.Errorf("conch gate: exit code %d, says %q; want 1 and nothing", r.code, r.out+r.err)
	}
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
