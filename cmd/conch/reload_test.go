//go:build unix

package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

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
		t.Errorf("before the reload the old and the new token get %d and %d, want 200 and 401", a, b)
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
		t.Errorf("after the reload the old and the new token get %d and %d, want 401 and 200", a, b)
	}
	if starts := w.seen("start", "stays"); len(starts) != 1 || w.leader("stays") != "n1" {
		t.Errorf("the calls to the role that stays are %+v, want one start and no stop", w.seen("", "stays"))
	}
	// The change takes effect with the next term, which a drain brings about.
	conch(t, "--db", db.URL, "drain", "--scope", "stays").done(t)
	pgtest.Eventually(t, patience, "its next term", func() bool { return len(w.seen("start", "stays")) == 2 })
	judgeHandoffs(t, w.seen("", "stays"), 15*time.Second) // it rests for a lease, even without other candidates

	n.write(fileOf(db.URL, node+w.role("stays", "heartbeat = 3")))
	conch(t, "reload", "--config", n.file).refused(t, 1, "nothing was changed", "heartbeat")
	n.says("configuration not changed")
	if w.leader("comes") != "n1" {
		t.Error("after a reload of a faulty file n1 does not run the role comes, want no change")
	}
	if code := n.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	conch(t, "reload", "--config", n.file).refused(t, 1, "no node runs there")
}

// A reload that removes a role ends the node's candidacy at once, although its session goes on.
func TestARemovedRoleIsNoCandidate(t *testing.T) {
	runtest.LongRun(t)
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
		t.Fatalf("before the reload the candidates are %s, want n1 and n2", who)
	}
	two.write(fileOf(db.URL, w.role("other", "")))
	conch(t, "reload", "--config", two.file).done(t)
	if who := candidates(); who != "[n1]" {
		t.Errorf("after the reload the candidates are %s, want n1", who)
	}
	conch(t, "--db", db.URL, "transfer", "--scope", "payments", "--to", "n2").refused(t, 1, `n2 is no candidate of "payments" now; these are: n1`)
	w.wants(t, "payments", "n1")
	two.write(fileOf(db.URL, w.role("other", "")+w.role("payments", "")))
	conch(t, "reload", "--config", two.file).done(t)
	pgtest.Eventually(t, patience, "it is a candidate again, once", func() bool { return candidates() == "[n1 n2]" })
	conch(t, "--db", db.URL, "transfer", "--scope", "payments", "--to", "n2").done(t)
	w.wants(t, "payments", "n2")
}
