package main_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/conchhq/conch/internal/proctest"
	"github.com/conchhq/conch/internal/runtest"
)

const (
	payoutToken = "payout-0123456789abcdefghijklmno"
	payoutRules = `{"token":"payout","chain":"evm:1337","accounts":["any"],"receivers":[{"to":"any","functions":["plain","any"]}],"value_a_day":"2500"}`

	// onlyOnce is the code of a contract that reverts when it is called a second time.
	onlyOnce = "0x6013600c60003960136000f3" + "600054" + "15600c57" + "60006000fd" + "5b600160005500"
)

// payout is a run of an example that pays what it is told on its standard input.
type payout struct {
	*proctest.Process
	t     *testing.T
	stdin io.WriteCloser

	mu    sync.Mutex
	lines []string
}

func payoutRun(t *testing.T, api string, program ...string) *payout {
	t.Helper()
	p := &payout{t: t}
	cmd := exec.Command(program[0], program[1:]...)
	cmd.Env = append(os.Environ(), "CONCH_NODE="+api, "CONCH_ACCOUNT=payer", "CONCH_TOKEN="+payoutToken)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdin, cmd.Stderr = stdin, os.Stderr
	cmd.Stdout = proctest.Cut(func(line string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.lines = append(p.lines, line)
	})
	p.Process = proctest.Start(t, cmd)
	return p
}

func (p *payout) pays(lines ...string) {
	p.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(p.stdin, line+"\n"); err != nil {
			p.t.Fatal(err)
		}
	}
}

// said counts the lines that begin so.
func (p *payout) said(begins string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range p.lines {
		if strings.HasPrefix(line, begins) {
			n++
		}
	}
	return n
}

// The payout services of examples, made from the OpenAPI document alone, in each language: they pay and wait, say why a call had no effect, send
// no call that would have none, stay within their token's limit, and tell of what the chain has taken back after it was final.
func TestPayouts(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	for name, program := range map[string]func(*testing.T) []string{
		"go": func(t *testing.T) []string {
			t.Helper()
			path, err := proctest.Build("payout-go", "../../examples/payout-go")
			if err != nil {
				t.Fatal(err)
			}
			return []string{path}
		},
		"python": func(t *testing.T) []string {
			t.Helper()
			path, err := exec.LookPath("python3")
			if err != nil {
				t.Skip("python3 is not installed")
			}
			return []string{path, example("payout-py", "payout.py")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			playPayout(t, program(t))
		})
	}
}

func playPayout(t *testing.T, program []string) {
	t.Helper()
	db, chain := migrated(t), startDevnode(t, "--block-time", "0", "--finality", "4")
	rules := filepath.Join(t.TempDir(), "payout.json")
	if err := os.WriteFile(rules, []byte(payoutRules), 0o600); err != nil {
		t.Fatal(err)
	}
	conch(t, "--db", db.URL, "policy", "set", rules).done(t)
	n := prepareDaemon(t, "n1", db.URL, "")
	if err := os.WriteFile(filepath.Join(n.dir, "token"), []byte("payout "+payoutToken+"\nops "+officeToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	n.write(fileOf(db.URL, "listen = \"127.0.0.1:0\"\ntoken_file = \"token\"\n"+strings.Replace(accountAt(n, chain.ws(), 1337, "unlimited = true\n"), "finality = 2", "finality = 4", 1)))
	api := n.start().api()
	p := payoutRun(t, api, program...)
	pooled := func(want uint64) func() bool {
		return func() bool { ready, _ := chain.pooled(); return ready == want }
	}
	mining := func(cond func() bool) func() bool { return nowAndThen(func() { chain.mine(1) }, cond) }
	says := func(times int, begins string) {
		t.Helper()
		until(t, "it says %d times %q", mining(func() bool { return p.said(begins) >= times }), times, begins)
	}

	// The contract is the operators', so that the payout's token sees nothing of it.
	code, answer := sends(t, http.MethodPost, api+"/v1/transactions", fmt.Sprintf(`{"account":"payer","data":%q,"gas":200000}`, onlyOnce),
		http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + officeToken}})
	if code != http.StatusAccepted {
		t.Fatalf("the contract: %d %s", code, answer)
	}
	until(t, "the contract is in the pool", pooled(1))
	chain.mine(1)
	contract := contractOf(chain, 0)

	p.pays("one," + nobodysAddress + ",1000")
	says(1, "paid one 0x")
	p.pays("twice-1,"+contract+",0,0x01,100000", "twice-2,"+contract+",0,0x01,100000")
	until(t, "both calls are in the pool", pooled(2))
	says(1, "paid twice-1 0x")
	says(1, "failed twice-2 reverted the call does not fail on the state before its block")
	before := quantity(t, chain.call("eth_blockNumber")).Uint64()
	p.pays("thrice,"+contract+",0,0x01,100000", "much,"+nobodysAddress+",1501", "nobody,0x01,1")
	for _, want := range []string{"refused thrice its call fails: execution reverted", "held much until ", "refused nobody to: "} {
		says(1, want)
	}
	if p.said("sent ") != 3 {
		t.Errorf("it has sent %d payments, want 3", p.said("sent "))
	}

	// The chain takes back what was final, and the account sees it with its next transaction.
	at := quantity(t, receiptBlock(chain, 2)).Uint64()
	head := quantity(t, chain.call("eth_blockNumber")).Uint64()
	if before < at {
		t.Fatalf("the calls are in block %d, and were final at %d", at, before)
	}
	chain.call("dev_reorg", hexed(head-at+1), [][]string{{}, {}})
	p.pays("last," + nobodysAddress + ",1")
	says(1, "back twice-1 it was succeeded")
	says(1, "back twice-2 it was reverted")
	says(2, "paid twice-1 0x")
	says(2, "failed twice-2 reverted")
	says(1, "paid last 0x")
	if p.said("back one") != 0 || p.said("paid one") != 1 {
		t.Error("what stayed final is told to be taken back")
	}
	_ = p.stdin.Close()
	if code := p.Wait(patience); code != 1 {
		t.Errorf("it ends with %d, want 1: some were not paid", code)
	}

	// Without its own memory, a second run with the same list sends nothing anew.
	again := payoutRun(t, api, program...)
	again.pays("one,"+nobodysAddress+",1000", "last,"+nobodysAddress+",1")
	_ = again.stdin.Close()
	if code := again.Wait(patience); code != 0 || again.said("paid ") != 2 {
		t.Errorf("the second run ends with %d, want 0, and both paid", code)
	}
	if got := quantity(t, chain.call("eth_getTransactionCount", fundedAddress, "latest")).Uint64(); got != 5 {
		t.Errorf("the account has sent %d transactions, want 5", got)
	}
}

// contractOf returns the address of the contract that a transaction in the newest block has made.
func contractOf(chain *devnode, at int) string {
	chain.t.Helper()
	return receiptAt(chain, "latest", at)["contractAddress"].(string)
}

// receiptBlock returns the number of the block that has the transaction with a nonce.
func receiptBlock(chain *devnode, nonce uint64) any {
	chain.t.Helper()
	for number := quantity(chain.t, chain.call("eth_blockNumber")).Uint64(); number > 0; number-- {
		block := chain.call("eth_getBlockByNumber", hexed(number), true).(map[string]any)
		for _, tx := range block["transactions"].([]any) {
			if tx.(map[string]any)["nonce"] == hexed(nonce) {
				return block["number"]
			}
		}
	}
	chain.t.Fatalf("no block has a transaction with the nonce %d", nonce)
	return nil
}

func receiptAt(chain *devnode, block string, at int) map[string]any {
	chain.t.Helper()
	hashes := chain.call("eth_getBlockByNumber", block, false).(map[string]any)["transactions"].([]any)
	return chain.call("eth_getTransactionReceipt", hashes[at]).(map[string]any)
}
