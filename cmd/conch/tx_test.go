//go:build unix

package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/conchhq/conch/internal/runtest"
)

const accountScope = "pending:evm:1337:" + fundedAddress

// sender starts a node with the funded account and an API.
func sender(t *testing.T, id, db string, chain *devnode) *daemon {
	t.Helper()
	n := prepareDaemon(t, id, db, "")
	n.write(fileOf(db, "listen = \"127.0.0.1:0\"\n"+chain.account(n, "")))
	return n.start()
}

func (d *daemon) api() string {
	d.says("serving the API")
	return "http://" + d.value("serving the API", "address")
}

// post sends a JSON request and returns status and body.
func post(t *testing.T, url, body string) (int, map[string]any) {
	t.Helper()
	code, text := sends(t, http.MethodPost, url, body, inJSON)
	var out map[string]any
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%s: %s", url, text)
	}
	return code, out
}

func intentJSON(to, value, key string) string {
	return fmt.Sprintf(`{"account":"payer","to":%q,"value":%q,"idempotency_key":%q}`, to, value, key)
}

// Two nodes and a real chain: one key is one transaction, however often and wherever it is
// requested; a follower accepts; the successor of a killed leader goes on; no secret is shown.
func TestTransactionsThroughTwoNodes(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, chain := migrated(t), startDevnode(t)
	one := sender(t, "n1", db.URL, chain)
	one.says("sending", "account", "payer", "chain", "evm:1337", "epoch", 1.0)
	two := sender(t, "n2", db.URL, chain)
	two.says("leadership following", "scope", accountScope)

	ids := make([]any, 20)
	var asking sync.WaitGroup
	for i := range ids {
		node := []*daemon{one, two}[i%2].api()
		asking.Go(func() {
			code, body := post(t, node+"/v1/transactions", intentJSON(nobodysAddress, "1000", "once"))
			if code != http.StatusAccepted {
				t.Errorf("status %d, body %v; want 202", code, body)
			}
			ids[i] = body["id"]
		})
	}
	asking.Wait()
	for _, id := range ids {
		if id != ids[0] || id == nil {
			t.Fatalf("one key gave the IDs %v, want the same one", ids)
		}
	}
	if code, body := post(t, two.api()+"/v1/transactions", intentJSON(nobodysAddress, "1001", "once")); code != http.StatusConflict || body["type"] != "urn:conch:problem:key-taken" {
		t.Errorf("the same key for another call: status %d, body %v; want 409", code, body)
	}
	shown := conch(t, "tx", "show", fmt.Sprint(ids[0]), "--node", two.api(), "--wait", "--json")
	got := decode[map[string]any](t, shown.done(t))
	if got["fate"] != "done" || got["state"] != "finalized" || got["nonce"] != 0.0 || got["account"] != "payer" || got["as_of"] == nil {
		t.Errorf("the transaction shows as %v, want it done and final with nonce 0", got)
	}
	if b := chain.balance(nobodysAddress); b != "1000" {
		t.Errorf("the receiver has %s, want 1000", b)
	}

	if code := one.stop(syscall.SIGKILL); code == 0 {
		t.Error("exit code 0, want that of a killed process")
	}
	sent := conch(t, "tx", "send", "--node", two.api(), "--account", "payer", "--to", nobodysAddress, "--value", "7", "--data", "0x01", "--wait")
	if text := sent.done(t); !strings.Contains(text, "fate     done") || !strings.Contains(sent.err, "nonce 1") {
		t.Errorf("stdout %q, stderr %q; want it done with nonce 1", text, sent.err)
	}
	two.says("sending", "account", "payer", "epoch", 2.0)
	if b, n := chain.balance(nobodysAddress), chain.count(); b != "1007" || n != "0x2" {
		t.Errorf("the receiver has %s after %s transactions, want 1007 after 0x2", b, n)
	}
	lists(t, two.api())
	many := newCrowd(t, func() []string { return []string{two.api()} })
	many.wants(0, 10)
	asked := many.acknowledged()
	asked[fmt.Sprint(ids[0])] = deed(nobodysAddress, "1000", "0x")
	judge(t, chain, db.URL, asked)
	if code := two.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	for _, n := range []*daemon{one, two} {
		tellsNoSecret(t, n.text()+sent.out+sent.err+shown.out+shown.err)
	}
}

func tellsNoSecret(t *testing.T, text string) {
	t.Helper()
	for _, secret := range []string{keystorePassword, worthlessKey, strings.ToUpper(worthlessKey)} {
		if strings.Contains(text, secret) {
			t.Errorf("the output contains a secret: %s", text)
		}
	}
	if len(text) < 100 {
		t.Error("the output is shorter than 100 bytes, want enough to search")
	}
}

// lists checks lists and metrics after two transactions.
func lists(t *testing.T, api string) {
	t.Helper()
	text := conch(t, "tx", "list", "--node", api, "--account", fundedAddress, "--state", "finalized", "--fate", "done", "--json").done(t)
	if strings.Count(text, "\n") != 2 || !strings.Contains(text, `"creator":"n2"`) {
		t.Errorf("tx list prints %s, want two transactions, one by n2", text)
	}
	if text := conch(t, "tx", "list", "--node", api, "--fate", "queued").done(t); !strings.HasPrefix(text, "ID ") || strings.Count(text, "\n") != 1 {
		t.Errorf("tx list of queued ones prints %s, want the heading alone", text)
	}
	conch(t, "tx", "list", "--node", api, "--state", "lost").refused(t, 2, "state")
	conch(t, "tx", "list", "--node", api, "--account", "nobody").refused(t, 2, "account")
	conch(t, "tx", "show", "0d0fb3a4-7c1e-4bb1-9c6f-2b2f6d0b8f11", "--node", api).refused(t, 1, "no transaction")
	id := decode[map[string]any](t, strings.SplitAfter(text, "\n")[0])["id"].(string)
	conch(t, "tx", "cancel", id, "--node", api).refused(t, 1, "too late")
	_, metrics := page(t, api+"/metrics")
	for _, state := range []string{"queued", "future", "ready", "broadcast", "in_block", "retracted", "finality_timeout"} {
		if want := fmt.Sprintf(`conch_pending_transactions{account="payer",state=%q} 0`, state); !strings.Contains(metrics, want) {
			t.Errorf("/metrics has no line %s", want)
		}
	}
	if !strings.Contains(metrics, `conch_extrinsic_blocked_not_leader_total{scope="`+accountScope+`"} 0`) {
		t.Error("/metrics does not count refused sends, want 0 of them")
	}
}

// With its endpoint down a node leads and accepts, and sends later. Another chain's is refused.
func TestTheChainIsAwayOrAnother(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, chain := migrated(t), startDevnode(t)
	other := prepareDaemon(t, "n0", db.URL, "")
	other.write(fileOf(db.URL, accountAt(other, chain.url, 1, "")))
	conch(t, "node", "--config", other.file, "--log-level", "error").refused(t, 1, "chain ID 1337", "configuration says 1")

	proxied := newDoor(t, strings.TrimPrefix(chain.url, "http://"))
	n := prepareDaemon(t, "n1", db.URL, "")
	n.write(fileOf(db.URL, "listen = \"127.0.0.1:0\"\n"+accountAt(n, "http://"+proxied.address, 1337, "")))
	n.start().says("CHAIN UNREACHABLE: transactions are accepted, and none is sent", "chain", "dev")
	n.says("sending", "account", "payer")
	code, body := post(t, n.api()+"/v1/transactions", intentJSON(anothersAddress, "5", "early"))
	if code != http.StatusAccepted {
		t.Fatalf("status %d, body %v; want 202", code, body)
	}
	if _, metrics := page(t, n.api()+"/metrics"); !strings.Contains(metrics, `conch_pending_transactions{account="payer",state="queued"} 1`) {
		t.Error("/metrics does not count the queued intent")
	}
	proxied.open()
	conch(t, "tx", "show", body["id"].(string), "--node", n.api(), "--wait").done(t)
	if b := chain.balance(anothersAddress); b != "5" {
		t.Errorf("the receiver has %s, want 5", b)
	}
	tellsNoSecret(t, n.text())
}

// With the database away, intents get 503, and the gate is shut. (D2)
func TestNoDatabaseNoIntent(t *testing.T) {
	t.Parallel()
	chain := startDevnode(t)
	n := sender(t, "n1", "postgres://conch:hunter2@127.0.0.1:1/app", chain)
	n.says("transactions cannot be kept")
	code, body := post(t, n.api()+"/v1/transactions", intentJSON(nobodysAddress, "5", "k"))
	if code != http.StatusServiceUnavailable || body["type"] != "urn:conch:problem:database-unavailable" {
		t.Errorf("status %d, body %v; want 503 and database-unavailable", code, body)
	}
	if code, _ := get(t, n.api()+"/v1/scopes/"+accountScope+"/gate"); code != http.StatusServiceUnavailable {
		t.Errorf("the gate: status %d, want 503", code)
	}
	if text := n.text() + fmt.Sprint(body); strings.Contains(text, "hunter2") {
		t.Error("the log or the answer contains the database's password")
	}
}

// A standalone node sends without a database, and says what a crash costs. (S18)
func TestTransactionsStandalone(t *testing.T) {
	t.Parallel()
	chain := startDevnode(t)
	n := prepareDaemon(t, "n1", "", "")
	n.write("[node]\nstandalone = true\nlisten = \"127.0.0.1:0\"\n" + chain.account(n, ""))
	n.start().says("standalone: transactions are kept in memory, and a crash loses all of them, those that were sent included")
	conch(t, "tx", "send", "--node", n.api(), "--account", "payer", "--to", nobodysAddress, "--value", "9", "--wait").done(t)
	if b := chain.balance(nobodysAddress); b != "9" {
		t.Errorf("the receiver has %s, want 9", b)
	}
	if code := n.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	tellsNoSecret(t, n.text())
}

// Accounts come and go with a reload; a wrong password changes nothing.
func TestAccountsAreReloaded(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, chain := migrated(t), startDevnode(t)
	const role = "listen = \"127.0.0.1:0\"\n[[roles]]\nname = \"a\"\n"
	n := startDaemon(t, "n1", db.URL, role)
	conch(t, "tx", "send", "--node", n.api(), "--account", "payer", "--to", nobodysAddress).refused(t, 2, "no account")
	n.write(fileOf(db.URL, role+chain.account(n, "max_in_flight = 10\n")))
	secret := "not the password"
	if err := os.WriteFile(filepath.Join(n.dir, "password"), []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	r := conch(t, "reload", "--config", n.file)
	if r.code != 1 || !strings.Contains(r.err, "does not open") || strings.Contains(r.err+n.text(), secret) {
		t.Errorf("exit code %d, stderr %s; want 1, and the password shown nowhere", r.code, r.err)
	}
	chain.account(n, "") // restores the right password
	if text := conch(t, "reload", "--config", n.file).done(t); !strings.Contains(text, "started: "+accountScope) {
		t.Errorf("reload prints %q, want the account started", text)
	}
	conch(t, "tx", "send", "--node", n.api(), "--account", "payer", "--to", nobodysAddress, "--value", "3", "--wait").done(t)
	n.write(fileOf(db.URL, role))
	if text := conch(t, "reload", "--config", n.file).done(t); !strings.Contains(text, "drained: "+accountScope) {
		t.Errorf("reload prints %q, want the account drained", text)
	}
	conch(t, "tx", "send", "--node", n.api(), "--account", "payer", "--to", nobodysAddress).refused(t, 2, "no account")
	tellsNoSecret(t, n.text())
}

// Faults that tx reports before it asks a node.
func TestTxUsage(t *testing.T) {
	t.Parallel()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("# ours\nops 0123456789abcdefghij\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		code int
		says []string
	}{
		{"tx", 2, []string{"send, show, list, cancel"}},
		{"tx send --to 0x00", 2, []string{"--account"}},
		{"tx show", 2, []string{"one ID"}},
		{"tx show 1 --wait --until done", 2, []string{"--until done", "final, in_block and nonce"}},
		{"tx show 1 --until nonce", 2, []string{"add --wait"}},
		{"tx list --node ftp://x", 2, []string{"--node"}},
		{"tx list --node http://127.0.0.1:1", 1, []string{"no node answers", "--node"}},
		{"tx list --node http://conch.example:7070 --token-file " + token, 2, []string{"in the clear", "https"}},
		{"tx list --node http://127.0.0.1:1 --token-file nowhere", 2, []string{"token cannot be read"}},
	} {
		conch(t, strings.Fields(c.args)...).refused(t, c.code, c.says...)
	}
	for _, command := range []string{"send", "show", "list", "cancel"} {
		if text := conch(t, "tx", command, "--help").done(t); !strings.Contains(text, "Examples:\n  ") || !strings.Contains(text, "conch tx "+command) {
			t.Errorf("the help of tx %s has no example", command)
		}
	}
}

// config check looks at an account's files, and shows nothing of their content.
func TestConfigCheckOfAccounts(t *testing.T) {
	t.Parallel()
	d := prepareDaemon(t, "n1", "postgres://conch@127.0.0.1:1/app", "")
	d.write(fileOf("postgres://conch@127.0.0.1:1/app", accountAt(d, "http://127.0.0.1:1/SECRET", 1337, "")))
	if text := conch(t, "config", "check", "--config", d.file).done(t); text != d.file+": ok\n" {
		t.Errorf("config check prints %q, want ok", text)
	}
	if err := os.Chmod(filepath.Join(d.dir, "password"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := conch(t, "config", "check", "--config", d.file)
	if r.code != 2 || !strings.Contains(r.out, "accounts[0].password_file: every user of this machine may read it") {
		t.Errorf("exit code %d, output %s%s; want 2 and a fault of password_file", r.code, r.out, r.err)
	}
	if err := os.WriteFile(filepath.Join(d.dir, "key.json"), []byte(`{"version":3,"address":"`+keystorePassword+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	r = conch(t, "config", "check", "--config", d.file, "--json")
	if r.code != 2 || !strings.Contains(r.out, "accounts[0].keystore") || strings.Contains(r.out+r.err, "SECRET") || strings.Contains(r.out+r.err, keystorePassword) {
		t.Errorf("exit code %d, output %s%s; want 2, a fault of keystore and no secret", r.code, r.out, r.err)
	}
}

// A keystore with an address that is not its key's is refused.
func TestAKeystoreThatLies(t *testing.T) {
	t.Parallel()
	d := prepareDaemon(t, "n1", "postgres://conch@127.0.0.1:1/app", "")
	d.write(fileOf("postgres://conch@127.0.0.1:1/app", accountAt(d, "http://127.0.0.1:1", 1337, "")))
	file := filepath.Join(d.dir, "key.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lie := strings.Replace(string(text), strings.TrimPrefix(fundedAddress, "0x"), strings.TrimPrefix(nobodysAddress, "0x"), 1)
	if err := os.WriteFile(file, []byte(lie), 0o600); err != nil {
		t.Fatal(err)
	}
	conch(t, "node", "--config", d.file, "--log-level", "error").refused(t, 1, "accounts[0]", "the key of "+fundedAddress)
}
