//go:build unix

package main_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestNodesThatDoNotStart(t *testing.T) {
	t.Parallel()
	const role = "[[roles]]\nname = \"a\"\nbuiltin = \"log\"\n"
	const db = "postgres://conch@127.0.0.1:1/app"
	type start struct {
		name, text string
		code       int
		says       []string
	}
	try := func(t *testing.T, c start) {
		t.Helper()
		d := prepareDaemon(t, "n2", db, "")
		d.write(c.text)
		if err := os.WriteFile(filepath.Join(d.dir, "short"), []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
		conch(t, "node", "--config", d.file, "--log-level", "error").refused(t, c.code, c.says...)
	}
	// Not in a subtest: those run later, perhaps after n1's time limit.
	taken := startDaemon(t, "n1", db, role)
	try(t, start{text: strings.Replace(fileOf(db, role), `"data"`, `"`+taken.dir+`/data"`, 1), code: 1, says: []string{"data_dir = ", "another node uses it: wait if that is ending, or name another folder"}})
	for _, c := range []start{
		{"no database", role, 2, []string{"no database", "standalone = true"}},
		{"a fault", "[node]\nlisen = 1\n" + role, 2, []string{"conch.toml: line 2, node.lisen", `"listen"`}},
		{"open without anything", fileOf(db, "listen = \"0.0.0.0:0\"\n"+role), 2, []string{"TLS", "token"}},
		{"standalone and open", "[node]\nstandalone = true\nlisten = \":0\"\n" + role, 2, []string{"TLS", "token"}},
		{"a token that is too short", fileOf(db, "token_file = \"short\"\n"+role), 2, []string{"at least 20"}},
		{"an address of somebody else's", fileOf(db, "listen = \"192.0.2.1:1\"\ntls_cert = \"x\"\ntls_key = \"x\"\n"+role), 2, []string{"certificate"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			try(t, c)
		})
	}
	conch(t, "node", "--config", filepath.Join(t.TempDir(), "none.toml")).refused(t, 2, "none.toml")
}

// Every fault has its line and its key, also those about other files, in order of lines.
func TestConfigCheckSaysWhere(t *testing.T) {
	t.Parallel()
	d := prepareDaemon(t, "n1", nobodys, "")
	d.write(`[node]
token_file = "none"
listen = "127.0.0.1:99999"
ops_listen = ":abc"
[election]
lease = "1ms"
[[roles]]
name = "a"
command = "no-such-program"
[[roles]]
name = "b"
command = 3
`)
	r := conch(t, "config", "check", "--config", d.file)
	want := []string{
		"line 2, node.token_file: ", "line 3, node.listen: ", "line 4, node.ops_listen: ", "line 6, election.lease: ",
		"line 9, roles[0].command: ", "line 12, roles[1].command: ", "database.url: no database",
	}
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	if r.code != 2 || len(lines) != len(want) {
		t.Fatalf("exit code %d, output %s; want 2 and a line for each fault", r.code, r.out)
	}
	for i, line := range lines {
		if !strings.HasPrefix(line, d.file+": "+want[i]) {
			t.Errorf("got %q, want %s: and %q", line, d.file, want[i])
		}
	}
	if r := conch(t, "config", "check", "--config", d.file, "--listen", "nowhere"); !strings.Contains(r.out, "conch.toml: --listen: ") || strings.Contains(r.out, "node.listen") {
		t.Errorf("with --listen the faults are %s, want one of the flag and none of node.listen", r.out)
	}
	conch(t, "node", "--config", d.file, "--db", nobodys, "--listen", "127.0.0.1:x").refused(t, 2, "line 6, election.lease")
}

// A standalone node uses no database; its roles run and its gates are open. (S18)
func TestStandalone(t *testing.T) {
	t.Parallel()
	w := newCoworker(t)
	n := prepareDaemon(t, "n1", "", "")
	n.write("[node]\nstandalone = true\nlisten = \"127.0.0.1:0\"\n" + w.role("payments", "") + "[[roles]]\nname = \"asked\"\n" +
		"[[roles]]\nname = \"works\"\ncommand = 'sh -c \"echo at work; exec sleep 1000\"'\n")
	n.start().says("node started", "standalone", true)
	w.wants(t, "payments", "n1")
	n.says("at work")
	api := "http://" + n.value("serving the API", "address")
	gate := api + "/v1/scopes/asked/gate"
	for _, path := range []string{"/readyz", "/healthz", "/v1/scopes", "/v1/history"} {
		if code, text := page(t, api+path); code != 200 {
			t.Errorf("%s: status %d, body %s; want 200", path, code, text)
		}
	}
	if code, body := get(t, gate); code != 200 || !body["leader"].(bool) || body["epoch"] != 0.0 {
		t.Errorf("the gate: status %d, body %v; want 200 and epoch 0", code, body)
	}
	if code := n.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	w.wants(t, "payments", "")
}

func TestConfigCheck(t *testing.T) {
	t.Parallel()
	conch(t, "config", "check", "--config", "../../examples/conch.toml").done(t)
	d := prepareDaemon(t, "n1", "postgres://conch@127.0.0.1:1/app", "[[roles]]\nname = \"a\"\n")
	if text := conch(t, "config", "check", "--config", d.file).done(t); text != d.file+": ok\n" {
		t.Errorf("config check prints %q, want ok", text)
	}
	if text := conch(t, "config", "check", "--config", d.file, "--json").done(t); !strings.HasPrefix(text, `{"faults":[],`) {
		t.Errorf("config check --json prints %q, want no faults", text)
	}
	d.write("[node]\nlisen = 1\n[election]\nlease = 3\n[[notifies]]\n")
	r := conch(t, "config", "check", "--config", d.file)
	if r.code != 2 || strings.Count(r.out, "\n") != 5 || !strings.Contains(r.out, "line 4, election.lease") || !strings.Contains(r.err, "5 faults") {
		t.Errorf("config check: exit code %d, stdout %q, stderr %q; want 2 and 5 faults", r.code, r.out, r.err)
	}
	var found struct {
		OK     bool
		Faults []struct {
			Line      int
			Key, Text string
		}
	}
	r = conch(t, "config", "check", "--config", d.file, "--json")
	if err := json.Unmarshal([]byte(r.out), &found); err != nil || r.code != 2 || found.OK || len(found.Faults) != 5 || found.Faults[0].Line == 0 {
		t.Errorf("config check --json: error %v, exit code %d, output %q; want 2 and 5 faults with their lines", err, r.code, r.out)
	}
	for _, command := range []string{"node", "config", "config check", "reload", "drain", "transfer"} {
		if text := conch(t, append(strings.Fields(command), "--help")...).done(t); !strings.Contains(text, "Examples:\n  conch ") {
			t.Errorf("the help of %q has no example", command)
		}
	}
	conch(t, "config").refused(t, 2, "check")
	conch(t, "drain").refused(t, 2, "--scope")
	conch(t, "transfer", "--scope", "s").refused(t, 2, "--to")
	conch(t, "drain", "--scope", "s", "--timeout", "0s").refused(t, 2, "--timeout")
}

const (
	// nobodys is the URL of a database that does not exist: nothing listens there.
	nobodys = "postgres://conch@127.0.0.1:1/app"
	// nameless has peers and no instance_id, which the command line gives.
	nameless = "[[files]]\nscope = \"data\"\ndir = \"files\"\npeers = { n1 = \"http://127.0.0.1:1\", n2 = \"http://127.0.0.1:2\" }\n"
)

// config check and doctor accept the flags that a node gets: a file for all nodes, with each
// node's name on the command line, has no fault.
func TestAFileIsCheckedAsItsNodeIsStarted(t *testing.T) {
	t.Parallel()
	d := prepareDaemon(t, "n1", nobodys, nameless)
	conch(t, "config", "check", "--config", d.file, "--id", d.id).done(t)
	for _, flags := range [][]string{nil, {"--id", "a:b"}, {"--id", d.id, "--listen", "0.0.0.0:7070"}, {"--id", d.id, "--ops-listen", "nowhere"}} {
		if r := conch(t, append([]string{"config", "check", "--config", d.file}, flags...)...); r.code != 2 || r.out == "" {
			t.Errorf("%v: exit code %d, stdout %q, stderr %q; want 2 and faults", flags, r.code, r.out, r.err)
		}
	}
	r := conch(t, "doctor", "--config", d.file, "--id", d.id, "--json")
	if f := judged(decode[[]finding](t, r.out), "reachable"); r.code != 1 || f.Status != "fail" {
		t.Errorf("exit code %d, stdout %q, stderr %q; want 1 and a failed reachable", r.code, r.out, r.err)
	}
	conch(t, "doctor", "--config", d.file).refused(t, 2, "files[0].peers", "--id")
	conch(t, "doctor", "--id", d.id).refused(t, 2, "--id", "--config")
}

// Doctor asks no database for a standalone node, even if one answers at the usual place.
func TestDoctorAsksNoDatabaseOfAStandaloneNode(t *testing.T) {
	t.Parallel()
	d := prepareDaemon(t, "n1", "", "")
	d.write("[node]\nstandalone = true\nlisten = \"off\"\n[[roles]]\nname = \"a\"\n")
	found := decode[[]finding](t, conch(t, "doctor", "--config", d.file, "--json").done(t))
	var checks []string
	for _, f := range found {
		checks = append(checks, f.Check)
	}
	if !slices.Equal(checks, []string{"reachable"}) {
		t.Errorf("doctor checks %v, want reachable alone: nothing else is configured", checks)
	}
	d.write("[node]\nstandalone = true\nlisten = \"off\"\n[[roles]]\nname = \"a\"\n[database]\nurl = \"" + nobodys + "\"\n")
	conch(t, "doctor", "--config", d.file).refused(t, 2, "standalone")
}

// A caller without a known token learns nothing; one that may read cannot drain. The leader stays
// until a caller that may operate asks.
func TestTokensOfANode(t *testing.T) {
	t.Parallel()
	db, w := migrated(t), newCoworker(t)
	n := prepareDaemon(t, "n1", db.URL,
		"listen = \"127.0.0.1:0\"\ntoken_file = \"operate\"\nread_token_file = \"read\"\n"+w.role("payments", ""))
	operate, read := strings.Repeat("o", 32), strings.Repeat("r", 32)
	for name, secret := range map[string]string{"operate": operate, "read": read} {
		if err := os.WriteFile(filepath.Join(n.dir, name), []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n.start().says("node started")
	w.wants(t, "payments", "n1")
	scope := "http://" + n.value("serving the API", "address") + "/v1/scopes/payments"
	for _, c := range []struct {
		token       string
		gate, drain int
	}{
		{"", 401, 401},
		{strings.Repeat("x", 32), 401, 401},
		{read, 200, 403},
		{operate, 200, 200},
	} {
		gate, drain := asked(t, http.MethodGet, scope+"/gate", c.token), asked(t, http.MethodPost, scope+"/drain", c.token)
		if gate != c.gate || drain != c.drain {
			t.Errorf("with the token %.1q the gate answers %d and the drain %d, want %d and %d", c.token, gate, drain, c.gate, c.drain)
		}
		if stops := len(w.seen("stop", "payments")); (stops > 0) != (c.token == operate) {
			t.Errorf("with the token %.1q the role was stopped %d times, want that only of one that may operate", c.token, stops)
		}
	}
	for _, secret := range []string{operate, read} {
		if strings.Contains(n.text(), secret) {
			t.Error("the log contains a token")
		}
	}
}
