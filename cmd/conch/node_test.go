//go:build unix

package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
)

// Three nodes, two roles, each led by one; the rolling restart of all three leaves
// no gap longer than a handoff and never two at work.
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
			t.Errorf("%s ended with %d", id, code)
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
		judgeHandoffs(t, w.seen("", scope), 3*time.Second)
	}
}

// judgeHandoffs checks that each term ended before the next began, and logs how
// long nobody was at work.
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
				t.Errorf("%s epoch %d began %s after %s of epoch %d", c.ID, c.Epoch, gap, last.Verb, last.Epoch)
			}
			last = &calls[i]
		case c.Verb == "start" || c.Verb == "stop":
			last = &calls[i]
		}
	}
	if len(gaps) == 0 {
		t.Errorf("it never changed hands: %+v", calls)
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
		t.Errorf("transfer prints %v", got)
	}
	if !strings.Contains(r.err, "asked n1") {
		t.Errorf("no progress on stderr: %q", r.err)
	}
	w.wants(t, "payments", "n3")

	text := conch(t, "--db", db.URL, "drain", "--scope", "payments").done(t)
	if !strings.Contains(text, `n3 gave up "payments", epoch 2`) {
		t.Errorf("drain prints %q", text)
	}
	pgtest.Eventually(t, patience, "another leads", func() bool { l := w.leader("payments"); return l == "n1" || l == "n2" })
	judgeHandoffs(t, w.seen("", "payments"), 3*time.Second)

	var actors []string
	for line := range strings.Lines(conch(t, "--db", db.URL, "history", "--scope", "payments", "--json").done(t)) {
		if e := decode[map[string]any](t, line); e["event"] == "drained" || e["event"] == "transferred" {
			actors = append(actors, e["event"].(string)+" "+e["actor"].(string))
		}
	}
	if len(actors) != 2 || !strings.HasPrefix(actors[0], "transferred ") || !strings.Contains(actors[1], "@") {
		t.Errorf("the history shows %v", actors)
	}
	conch(t, "--db", db.URL, "drain", "--scope", "nobody's").refused(t, 1, "nobody leads")
}

// A drain waits for an act of five seconds, and the successor begins after it.
func TestDrainDuringALongAct(t *testing.T) {
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
		t.Errorf("the drain returned after %s, before the act had ended", took)
	}
	w.wants(t, "payments", "n2")
	judgeHandoffs(t, w.seen("", "payments"), 3*time.Second)
}

// A callback that does not acknowledge its stop is never promised to have ended.
func TestAStopThatIsNotAcknowledgedIsNotReleased(t *testing.T) {
	t.Parallel()
	db, w := migrated(t), newCoworker(t)
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	w.stopping = func(told) { <-hold }
	n := startDaemon(t, "n1", db.URL, w.role("payments", "drain_timeout = \"1s\""))
	w.wants(t, "payments", "n1")
	r := conch(t, "--db", db.URL, "drain", "--scope", "payments", "--json") // in the second that the role has
	if got := decode[map[string]any](t, r.out); r.code != 1 || got["state"] != "failed" {
		t.Errorf("drain: %d, %v", r.code, got)
	}
	n.says("leadership abandoned")
	s := decode[[]map[string]any](t, conch(t, "--db", db.URL, "status", "--json").done(t))
	if s[0]["released"].(bool) {
		t.Errorf("it was released: %v", s)
	}
	if code := n.stop(syscall.SIGTERM); code != 1 && code != 0 {
		t.Errorf("exit code %d", code)
	}
	s = decode[[]map[string]any](t, conch(t, "--db", db.URL, "status", "--json").done(t))
	if s[0]["released"].(bool) {
		t.Errorf("it was released at the end: %v", s)
	}
}

// A role whose start fails resigns, and others get their chance.
func TestAStartThatFails(t *testing.T) {
	t.Parallel()
	db, w := migrated(t), newCoworker(t)
	w.failing = func(c told) bool { return c.ID == "n1" }
	n := startDaemon(t, "n1", db.URL, w.role("payments", ""))
	n.says("leadership released")
	startDaemon(t, "n2", db.URL, w.role("payments", ""))
	w.wants(t, "payments", "n2")
	if len(w.seen("stop", "payments")) == 0 {
		t.Error("a start that may have taken was not followed by a stop")
	}
}

// A program that refuses its start and its stop, as a proxy does whose program is
// gone, is given up on without a promise: others get their chance all the same.
func TestAStartAndAStopThatFail(t *testing.T) {
	t.Parallel()
	db, w := migrated(t), newCoworker(t)
	broken := func(c told) bool { return c.ID == "n1" }
	w.failing, w.refusing = broken, broken
	n := startDaemon(t, "n1", db.URL, w.role("payments", "drain_timeout = \"1s\""))
	n.says("the stop callback is not acknowledged")
	startDaemon(t, "n2", db.URL, w.role("payments", "drain_timeout = \"1s\""))
	w.wants(t, "payments", "n2")
	if n.count("leadership released") > 0 {
		t.Error("it promised an end that nobody had acknowledged")
	}
}

// A command role: its environment, its end by itself, and a hand-over by SIGTERM.
func TestACommandRole(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	const role = "[election]\nlease = \"1s\"\n[[roles]]\nname = \"payments\"\n" +
		`command = ["sh", "-c", "echo at work $CONCH_SCOPE $CONCH_EPOCH $CONCH_ID; exec sleep 1000"]` + "\n"
	one := startDaemon(t, "n1", db.URL, role)
	one.says("at work payments 1 n1")
	two := startDaemon(t, "n2", db.URL, role)
	two.says("leadership following", "scope", "payments")
	if code := one.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
	one.says("leadership released")
	two.says("at work payments 2 n2")
	fails := startDaemon(t, "n3", db.URL, "[[roles]]\nname = \"broken\"\ncommand = \"sh -c 'exit 7'\"\n")
	fails.says("leadership draining", "reason", "the role's function returned: the command ended with code 7")
}

// A command that needs longer than its lease to end gets the time that the operator
// gives, and the successor begins after it. (F6)
func TestADrainThatOutlastsTheLease(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	const role = "[election]\nlease = \"1s\"\n[[roles]]\nname = \"payments\"\ndrain_timeout = \"2s\"\n" +
		`command = ["sh", "-c", "trap 'sleep 4; echo ended in order; exit' TERM; echo at work $CONCH_EPOCH; sleep 1000 & while :; do wait; done"]` + "\n"
	one := startDaemon(t, "n1", db.URL, role)
	one.says("at work 1")
	two := startDaemon(t, "n2", db.URL, role)
	two.says("leadership following", "scope", "payments")
	conch(t, "--db", db.URL, "drain", "--scope", "payments", "--timeout", "30s").done(t)
	if one.count("ended in order") == 0 {
		t.Error("drained, and the command had not ended in order")
	}
	one.says("leadership released", "scope", "payments")
	two.says("leadership acquired", "handoff", true)
	two.says("at work 2")
}

// A second SIGTERM hurries: a command that is deaf to the first is killed.
func TestASecondSignalHurries(t *testing.T) {
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
		t.Errorf("exit code %d after %s", code, time.Since(began))
	}
	s := decode[[]map[string]any](t, conch(t, "--db", db.URL, "status", "--json").done(t))
	if !s[0]["released"].(bool) {
		t.Errorf("all had ended, and it is not released: %v", s)
	}
}

// Haste makes no promises: a callback that has not acknowledged is not waited for,
// and what it leads is not released.
func TestHasteMakesNoPromise(t *testing.T) {
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
		t.Errorf("exit code %d", code)
	}
	s := decode[[]map[string]any](t, conch(t, "--db", db.URL, "status", "--json").done(t))
	if s[0]["released"].(bool) {
		t.Errorf("it was released: %v", s)
	}
}

func TestReload(t *testing.T) {
	t.Parallel()
	db, w := migrated(t), newCoworker(t)
	node := "listen = \"127.0.0.1:0\"\ntoken_file = \"token\"\n"
	n := prepareDaemon(t, "n1", db.URL, node+w.role("stays", "")+w.role("goes", ""))
	token := func(secret string) {
		if err := os.WriteFile(filepath.Join(n.dir, "token"), []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	token(strings.Repeat("a", 32))
	n.start().says("node started")
	w.wants(t, "stays", "n1")
	w.wants(t, "goes", "n1")
	api := "http://" + n.value("serving the API", "address") + "/v1/scopes"
	if a, b := status(t, api, strings.Repeat("a", 32)), status(t, api, strings.Repeat("b", 32)); a != 200 || b != 401 {
		t.Errorf("before: %d and %d", a, b)
	}

	token(strings.Repeat("b", 32))
	n.write(fileOf(db.URL, node+"tls_cert = \"\"\nops_listen = \"127.0.0.1:0\"\n"+w.role("stays", "never = [\"n9\"]")+w.role("comes", "")))
	r := conch(t, "reload", "--config", n.file, "--json")
	got := decode[map[string]any](t, r.done(t))
	want := map[string]any{
		"ok": true, "added": []any{"comes"}, "removed": []any{"goes"}, "changed": []any{"stays"}, "needs_restart": []any{"node.ops_listen"},
	}
	if text, wanted := fmt.Sprint(got), fmt.Sprint(want); text != wanted {
		t.Errorf("reload prints %s, want %s", text, wanted)
	}
	w.wants(t, "comes", "n1")
	w.wants(t, "goes", "")
	if a, b := status(t, api, strings.Repeat("a", 32)), status(t, api, strings.Repeat("b", 32)); a != 401 || b != 200 {
		t.Errorf("after: %d and %d", a, b)
	}
	if starts := w.seen("start", "stays"); len(starts) != 1 || w.leader("stays") != "n1" {
		t.Errorf("the role that stays was disturbed: %+v", w.seen("", "stays"))
	}
	// What changed holds from the next term on, which comes with a drain.
	conch(t, "--db", db.URL, "drain", "--scope", "stays").done(t)
	pgtest.Eventually(t, patience, "its next term", func() bool { return len(w.seen("start", "stays")) == 2 })
	judgeHandoffs(t, w.seen("", "stays"), 10*time.Second)

	n.write(fileOf(db.URL, node+w.role("stays", "heartbeat = 3")))
	conch(t, "reload", "--config", n.file).refused(t, 1, "nothing was changed", "heartbeat")
	n.says("configuration not changed")
	if w.leader("comes") != "n1" {
		t.Error("a faulty file changed something")
	}
	if code := n.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
	conch(t, "reload", "--config", n.file).refused(t, 1, "no node runs there")
}

// A role that a reload takes away takes the node off the scope's candidates at
// once, though the session that it had for it lives on.
func TestARemovedRoleIsNoCandidate(t *testing.T) {
	t.Parallel()
	db, w := migrated(t), newCoworker(t)
	startDaemon(t, "n1", db.URL, w.role("payments", ""))
	w.wants(t, "payments", "n1")
	two := startDaemon(t, "n2", db.URL, w.role("payments", "")+w.role("other", ""))
	two.says("leadership following", "scope", "payments")
	candidates := func() string {
		t.Helper()
		s := decode[[]map[string]any](t, conch(t, "--db", db.URL, "status", "--scope", "payments", "--json").done(t))
		return fmt.Sprint(s[0]["candidates"])
	}
	if who := candidates(); who != "[n1 n2]" {
		t.Fatalf("before the reload: %s", who)
	}
	two.write(fileOf(db.URL, w.role("other", "")))
	conch(t, "reload", "--config", two.file).done(t)
	if who := candidates(); who != "[n1]" {
		t.Errorf("after the reload: %s", who)
	}
	conch(t, "--db", db.URL, "transfer", "--scope", "payments", "--to", "n2").refused(t, 1, `n2 is no candidate of "payments" now; these are: n1`)
	w.wants(t, "payments", "n1")
	two.write(fileOf(db.URL, w.role("other", "")+w.role("payments", "")))
	conch(t, "reload", "--config", two.file).done(t)
	pgtest.Eventually(t, patience, "it is a candidate again, once", func() bool { return candidates() == "[n1 n2]" })
	conch(t, "--db", db.URL, "transfer", "--scope", "payments", "--to", "n2").done(t)
	w.wants(t, "payments", "n2")
}

func status(t *testing.T, url, token string) int {
	t.Helper()
	return asked(t, http.MethodGet, url, token)
}

func asked(t *testing.T, method, url, token string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

func get(t *testing.T, url string) (int, map[string]any) {
	t.Helper()
	code, text := page(t, url)
	var body map[string]any
	_ = json.Unmarshal([]byte(text), &body)
	return code, body
}

func page(t *testing.T, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// The database restarts under a node: the gate shuts, the log is loud, and it
// comes back by itself. (S21, F5)
func TestTheDatabaseRestarts(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, postmaster.Config{})
	url := server.URL("postgres")
	conch(t, "--db", url, "migrate", "up").done(t)
	w := newCoworker(t)
	n := startDaemon(t, "n1", url, "listen = \"127.0.0.1:0\"\nops_listen = \"127.0.0.1:0\"\n[election]\nlease = \"1s\"\n"+
		"[[roles]]\nname = \"payments\"\nbuiltin = \"log\"\n"+w.role("mails", ""))
	n.says("leading", "scope", "payments")
	w.wants(t, "mails", "n1")
	ops := "http://" + n.value("serving health and metrics", "address")
	if code, text := page(t, ops+"/metrics"); code != 200 || !strings.Contains(text, `conch_is_leader{scope="payments"} 1`) {
		t.Errorf("metrics: %d %s", code, text)
	}
	if code, _ := page(t, ops+"/readyz"); code != 200 {
		t.Errorf("readyz: %d", code)
	}
	if code, text := page(t, ops+"/v1/scopes"); code != 404 || !strings.Contains(text, "the API has another") {
		t.Errorf("the ops listener serves the API: %d %s", code, text)
	}
	gate := "http://" + n.value("serving the API", "address") + "/v1/scopes/payments/gate"
	if code, body := get(t, gate); code != 200 || !body["leader"].(bool) || body["epoch"] != 1.0 {
		t.Errorf("gate: %d %v", code, body)
	}
	server.Kill9()
	n.says("DATABASE UNREACHABLE", "role", "FOLLOWER", "level", "ERROR")
	pgtest.Eventually(t, patience, "the gate is shut", func() bool { code, body := get(t, gate); return code == 503 && !body["leader"].(bool) })
	w.wants(t, "mails", "") // a callback is told, since nothing else would stop it
	if err := server.StartAgain(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.says("database recovered")
	pgtest.Eventually(t, patience, "it leads again", func() bool { code, body := get(t, gate); return code == 200 && body["epoch"].(float64) > 1 })
	w.wants(t, "mails", "n1")
	if _, text := page(t, ops+"/metrics"); !strings.Contains(text, `conch_leader_acquired_total{scope="payments"} 2`) {
		t.Errorf("metrics after two terms: %s", text)
	}
	if loud := n.count("DATABASE UNREACHABLE"); loud > 3 {
		t.Errorf("%d complaints in a few seconds", loud)
	}
	if code := n.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// A node that can not reach its database at the start follows, loudly, and leads
// nothing. (F5)
func TestADatabaseThatIsDownAtTheStart(t *testing.T) {
	t.Parallel()
	n := startDaemon(t, "n1", "postgres://conch@127.0.0.1:1/app", "[[roles]]\nname = \"payments\"\nbuiltin = \"log\"\n")
	n.says("DATABASE UNREACHABLE")
	if code := n.stop(syscall.SIGTERM); code != 0 || n.count("leading") > 0 {
		t.Errorf("exit code %d", code)
	}
}
