//go:build unix

package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/proctest"
)

const (
	keystorePassword = "a password nobody must see"
	// worthlessKey is the key that conch-devnode funds, as in testdata/keystore.json.
	worthlessKey    = "098d92f435cd50256cba6c56eec13aa7c66bf777b96619abad28b985daae5ad7"
	fundedAddress   = "0x6d2d50b5d17b86bf964d636751ed84b7b9fc8971"
	nobodysAddress  = "0x00000000000000000000000000000000000000aa"
	anothersAddress = "0x00000000000000000000000000000000000000bb"
)

// devnodeProgram builds conch-devnode, unless CONCH_DEVNODE names one. That may take minutes, so callers ask for it before they start
// their own clocks.
func devnodeProgram(t testing.TB) string {
	t.Helper()
	if named := os.Getenv("CONCH_DEVNODE"); named != "" {
		return named
	}
	path, err := proctest.Build("chain/conch-devnode", "../../chain/evm/cmd/conch-devnode", "-ldflags", "-s -w")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// devnode is a chain that ends with the test.
type devnode struct {
	t           testing.TB
	url         string
	life        *proctest.Process
	byHand      bool // it makes blocks only when a test asks for one
	finalByHand bool // it makes no block final by itself
}

func startDevnode(t testing.TB, args ...string) *devnode {
	t.Helper()
	args = append([]string{"--block-time", "200ms", "--parent", strconv.Itoa(os.Getpid())}, args...)
	if !strings.Contains(strings.Join(args, " "), "--listen") {
		args = append(args, "--listen", "127.0.0.1:0")
	}
	cmd := exec.Command(devnodeProgram(t), args...)
	cmd.Stderr = os.Stderr
	life := proctest.Listen(t, cmd)
	var ready struct {
		HTTP    string `json:"http"`
		Account string `json:"account"`
	}
	line := life.Says(patience, "")
	if err := json.Unmarshal([]byte(line), &ready); err != nil || !strings.EqualFold(ready.Account, fundedAddress) {
		t.Fatalf("conch-devnode: %v %q", err, line)
	}
	all := strings.Join(args, " ")
	return &devnode{t: t, url: ready.HTTP, life: life, byHand: strings.Contains(all, "--block-time 0"), finalByHand: strings.Contains(all, "--finality 0")}
}

// call asks the chain's node directly.
func (d *devnode) call(method string, args ...any) any {
	d.t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": args})
	if err != nil {
		d.t.Fatal(err)
	}
	answer, err := d.takes(body)
	if err != nil {
		d.t.Fatal(err)
	}
	var out struct{ Result, Error any }
	if err := json.Unmarshal(answer, &out); err != nil || out.Error != nil {
		d.t.Fatalf("%s: %v %v", method, err, out.Error)
	}
	return out.Result
}

// takes passes a request of one or more calls to the node, and returns the answer.
func (d *devnode) takes(request []byte) ([]byte, error) {
	answer, err := http.Post(d.url, "application/json", bytes.NewReader(request))
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	return io.ReadAll(answer.Body)
}

func (d *devnode) balance(address string) string {
	d.t.Helper()
	return quantity(d.t, d.call("eth_getBalance", address, "latest")).String()
}

func (d *devnode) count() string {
	return d.call("eth_getTransactionCount", fundedAddress, "latest").(string)
}

// account returns the configuration of the funded account, and writes its files.
func (d *devnode) account(n *daemon, more string) string {
	return accountAt(n, d.url, 1337, more)
}

func accountAt(n *daemon, url string, chainID int, more string) string {
	n.t.Helper()
	sealed, err := os.ReadFile("testdata/keystore.json")
	if err != nil {
		n.t.Fatal(err)
	}
	for name, text := range map[string]string{"key.json": string(sealed), "password": keystorePassword + "\n"} {
		if err := os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o600); err != nil {
			n.t.Fatal(err)
		}
	}
	return fmt.Sprintf("[[chains]]\nname = \"dev\"\nkind = \"evm\"\nurl = %q\nchain_id = %d\nfinality = 2\n"+
		"[[accounts]]\nname = \"payer\"\nchain = \"dev\"\nkeystore = \"key.json\"\npassword_file = \"password\"\nraise_after = \"500ms\"\n%s", url, chainID, more)
}

// Helpers of tests with a chain that misbehaves.

// ws returns the node's WebSocket URL, by which it announces new blocks.
func (d *devnode) ws() string { return "ws" + strings.TrimPrefix(d.url, "http") }

// mine makes blocks from the pool.
func (d *devnode) mine(blocks int) {
	d.t.Helper()
	d.call("dev_mine", hexed(uint64(blocks)))
}

// empty makes empty blocks.
func (d *devnode) empty(blocks int) {
	d.t.Helper()
	for range blocks {
		d.call("dev_block", []string{})
	}
}

// meanwhile makes empty blocks, slowly enough to be followed, while a test waits for cond.
func (d *devnode) meanwhile(cond func() bool) func() bool {
	return nowAndThen(func() { d.empty(1) }, cond)
}

// ending is meanwhile for what ends with a final block: two are needed, since the same endpoint is its own
// second witness. A chain that makes blocks itself needs no help.
func (d *devnode) ending(cond func() bool) func() bool {
	if !d.byHand {
		return cond
	}
	return nowAndThen(func() {
		d.empty(1)
		if d.finalByHand {
			d.call("dev_finalize")
		}
	}, cond)
}

// nowAndThen calls happens at every twentieth look at cond.
func nowAndThen(happens func(), cond func() bool) func() bool {
	looks := 0
	return func() bool {
		if looks++; looks%20 == 0 {
			happens()
		}
		return cond()
	}
}

func hexed(n uint64) string { return "0x" + strconv.FormatUint(n, 16) }

// pooled returns how many pooled transactions the next block can take, and how many wait.
func (d *devnode) pooled() (ready, waiting uint64) {
	d.t.Helper()
	status := d.call("txpool_status").(map[string]any)
	return number(d.t, status["pending"]), number(d.t, status["queued"])
}

// foreign returns bytes and hash of a transaction that a third party signs with the same key.
func (d *devnode) foreign(nonce uint64) (raw, hash string) {
	d.t.Helper()
	answer := d.call("account_signTransaction", map[string]any{
		"from": fundedAddress, "to": anothersAddress, "value": hexed(1000 + nonce), "gas": "0x5208", "nonce": hexed(nonce),
		"chainId": "0x539", "maxFeePerGas": hexed(22e8), "maxPriorityFeePerGas": hexed(2e6),
	}).(map[string]any)
	return answer["raw"].(string), answer["tx"].(map[string]any)["hash"].(string)
}

// books reads the database's rows: what was accepted and signed. Only the chain says what was done.
type books struct {
	t    testing.TB
	conn *pgx.Conn
}

func openBooks(t testing.TB, url string) *books {
	t.Helper()
	return &books{t, pgtest.Connect(t, pg.Config{URL: url, AppName: "books"})}
}

// attempt is a stored attempt.
type attempt struct {
	Raw, Hash string
	Max, Tip  uint64
	Filler    bool
}

func (b *books) attempts(nonce int) []attempt {
	b.t.Helper()
	rows, err := b.conn.Query(b.t.Context(), `SELECT '0x' || encode(signed, 'hex'), '0x' || encode(hash, 'hex'), fee_max::bigint, fee_tip::bigint, filler
		FROM conch.pending_attempts WHERE nonce = $1 ORDER BY n`, nonce)
	if err != nil {
		b.t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[attempt])
	if err != nil {
		b.t.Fatal(err)
	}
	return all
}

// number returns the number that a query yields.
func (b *books) number(question string, args ...any) (n int) {
	b.t.Helper()
	if err := b.conn.QueryRow(b.t.Context(), question, args...).Scan(&n); err != nil {
		b.t.Fatal(err)
	}
	return n
}

// states returns the stored states of all slots, by nonce.
func (b *books) states() string {
	b.t.Helper()
	var all string
	if err := b.conn.QueryRow(b.t.Context(), `SELECT coalesce(string_agg(state, ' ' ORDER BY nonce), '') FROM conch.pending_transactions`).Scan(&all); err != nil {
		b.t.Fatal(err)
	}
	return all
}

// become waits until the slots have these states.
func (b *books) become(states string) {
	b.t.Helper()
	b.becomes(states, func(cond func() bool) func() bool { return cond })
}

// end is become for states that are final.
func (b *books) end(chain *devnode, states string) {
	b.t.Helper()
	b.becomes(states, chain.ending)
}

func (b *books) becomes(states string, while func(func() bool) func() bool) {
	b.t.Helper()
	got := ""
	defer func() {
		if b.t.Failed() {
			b.t.Logf("the slots are %s", got)
		}
	}()
	pgtest.Eventually(b.t, patience, "slots become "+states, while(func() bool { got = b.states(); return got == states }))
}

// each repeats a state for a number of slots.
func each(state string, slots int) string {
	return strings.TrimSpace(strings.Repeat(state+" ", slots))
}

// shown returns what a node shows of a transaction.
func shown(t *testing.T, api, id string) map[string]any {
	t.Helper()
	code, body := get(t, api+"/v1/transactions/"+id)
	if code != http.StatusOK {
		t.Fatalf("status %d, body %v; want 200", code, body)
	}
	return body
}

// until waits until cond holds.
func until(t testing.TB, what string, cond func() bool, about ...any) {
	t.Helper()
	pgtest.Eventually(t, patience, fmt.Sprintf(what, about...), cond)
}
