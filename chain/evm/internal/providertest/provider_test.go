package providertest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/conchhq/conch/chain/evm/internal/providertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tx is in block 99 of the node.
var tx = "0x" + strings.Repeat("ab", 32)

// fakeNode is a node with the head 100 and the final block 97. An account's nonce is the height at which it is
// asked for.
func fakeNode(t *testing.T) *providertest.Node {
	t.Helper()
	heights := map[string]int{"latest": 100, "finalized": 97, "pending": 104}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var c struct {
			ID     json.RawMessage
			Method string
			Params []any
		}
		_ = json.NewDecoder(r.Body).Decode(&c)
		height := func(at int) int {
			name, _ := c.Params[at].(string)
			n, named := heights[name]
			if !named {
				_, _ = fmt.Sscanf(name, "0x%x", &n)
			}
			return n
		}
		var out any
		switch c.Method {
		case "eth_blockNumber":
			out = "0x64"
		case "eth_getTransactionCount":
			out = fmt.Sprintf("0x%x", height(1))
		case "eth_getHeaderByNumber", "eth_getBlockByNumber":
			out = map[string]any{"number": fmt.Sprintf("0x%x", height(0)), "hash": "0xreal", "transactions": []string{}}
		case "eth_getTransactionByHash", "eth_getTransactionReceipt":
			out = map[string]any{"hash": tx, "blockNumber": "0x63", "blockHash": "0xreal"}
		case "eth_sendRawTransaction":
			out = tx
		}
		text, _ := json.Marshal(out)
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, c.ID, text)
	}))
	t.Cleanup(s.Close)
	return providertest.NodeAt(t, s.URL)
}

func start(t *testing.T, install func(*providertest.Provider)) *providertest.Provider {
	t.Helper()
	return providertest.Start(t, fakeNode(t), providertest.Profile{Install: install})
}

// post returns the reply to a body, status and all.
func post(t *testing.T, p *providertest.Provider, body string) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	r, err := client.Post(p.HTTP(), "application/json", strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %s %s", r.StatusCode, r.Header.Get("Retry-After"), text)
}

func call(method string, params ...any) string {
	if params == nil {
		params = []any{}
	}
	text, err := json.Marshal(params)
	if err != nil {
		return err.Error() // no node understands it
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":%s}`, method, text)
}

func batch(n int, one string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + "]"
}

// Each behaviour changes the answers that it is about, and no others.
func TestBehaviours(t *testing.T) {
	t.Parallel()
	const account = "0x7070707070707070707070707070707070707070"
	count := func(tag string) string { return call("eth_getTransactionCount", account, tag) }
	does := func(b ...providertest.Behaviour) func(*providertest.Provider) {
		return func(p *providertest.Provider) { p.Does(b...) }
	}
	branch := func(p *providertest.Provider) {
		p.Does(providertest.DeadBranch)
		key := providertest.NewKey(t)
		p.AimBranch(90, 3, map[uint64][]providertest.Transaction{92: {key.Stranger(t, 1, 50)}})
	}
	for _, c := range []struct {
		name    string
		install func(*providertest.Provider)
		ask     string
		want    string
		kept    string // an answer that stays as it is
		same    string
	}{
		{"lag: the head", does(providertest.Lag(6)), call("eth_blockNumber"), `"0x5e"`, count("0x5a"), `"0x5a"`},
		{"lag: a nonce", does(providertest.Lag(6)), count("latest"), `"0x5e"`, count("pending"), `"0x68"`},
		{"lag: the final block", does(providertest.Lag(6)), call("eth_getBlockByNumber", "finalized", false), `"0x5b"`, count("0x1"), `"0x1"`},
		{"lag: a state above", does(providertest.Lag(6)), count("0x63"), "header not found", count("0x5e"), `"0x5e"`},
		{"lag: a block above", does(providertest.Lag(6)), call("eth_getBlockByNumber", "0x63", false), `"result":null`, count("0x5e"), `"0x5e"`},
		{"lag: a transaction", does(providertest.Lag(6)), call("eth_getTransactionByHash", tx), `"blockNumber":null`, count("0x5e"), `"0x5e"`},
		{"lag: a receipt", does(providertest.Lag(6)), call("eth_getTransactionReceipt", tx), `"result":null`, count("0x5e"), `"0x5e"`},
		{"steps", does(providertest.Steps(40)), call("eth_blockNumber"), `"0x50"`, count("0x1"), `"0x1"`},
		{"finality behind", does(providertest.FinalityBehind(50)), count("finalized"), `"0x32"`, count("latest"), `"0x64"`},
		{"finality is latest", does(providertest.FinalityIsLatest()), count("finalized"), `"0x64"`, count("latest"), `"0x64"`},
		{"pruned", does(providertest.Pruned(8)), count("0x5b"), "not available", count("0x5c"), `"0x5c"`},
		{"pruned and behind", does(providertest.FinalityBehind(50), providertest.Pruned(8)), count("finalized"), "not available", count("latest"), `"0x64"`},
		{"without a method", does(providertest.Without("eth_blockNumber")), call("eth_blockNumber"), "-32601", count("latest"), `"0x64"`},
		{"falters", does(providertest.Falters(1).On("eth_blockNumber")), call("eth_blockNumber"), "-32603", count("latest"), `"0x64"`},
		{"no index", does(providertest.NoIndex()), call("eth_getTransactionByHash", tx), `"result":null`, count("latest"), `"0x64"`},
		{"late receipts", does(providertest.LateReceipts(3)), call("eth_getTransactionReceipt", tx), `"result":null`, count("latest"), `"0x64"`},
		{"pool counted", does(providertest.CountsPool()), count("latest"), `"0x68"`, count("0x1"), `"0x1"`},
		{"refused for good", does(providertest.Refuses(-32000, "no")), call("eth_sendRawTransaction", "0x01"), `"no"`, count("latest"), `"0x64"`},
		{"branch: the head", branch, call("eth_blockNumber"), `"0x5d"`, count("0x5a"), `"0x5a"`},
		{"branch: a block", branch, call("eth_getBlockByNumber", "0x5c", true), "737472616e676572", call("eth_getHeaderByNumber", "0x5a"), `"0xreal"`},
		{"branch: by hash", branch, call("eth_getBlockByHash", "0xdeadb10c"+strings.Repeat("0", 54)+"5b", false), `"parentHash":"0xreal"`, count("0x5a"), `"0x5a"`},
		{"branch: what it lacks", branch, call("eth_getTransactionByHash", tx), `"result":null`, count("0x5a"), `"0x5a"`},
		{"a lie", func(p *providertest.Provider) { p.Does(providertest.LieCount(&p.Fault, 4)); p.Fault.On() }, count("latest"), `"0x68"`, count("latest"), `"0x64"`},
	} {
		p := start(t, c.install)
		if got := post(t, p, c.ask); !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
		if p.Strikes() == 0 {
			t.Errorf("%s: no strike is counted", c.name)
		}
		if got := post(t, p, c.kept); !strings.Contains(got, c.same) {
			t.Errorf("%s: got %s, want %s as from the node", c.name, got, c.same)
		}
	}
}

// Each transport changes the requests that it is about, and no others.
func TestTransports(t *testing.T) {
	t.Parallel()
	head, config := call("eth_blockNumber"), call("eth_config")
	for _, c := range []struct {
		name       string
		transport  providertest.Transport
		ask, want  string
		kept, same string
	}{
		{"an object", providertest.BatchLimit(2, providertest.ByObject), batch(3, head), `200  {"jsonrpc":"2.0","id":null,"error"`, batch(2, head), `200  [{`},
		{"items", providertest.BatchLimit(2, providertest.ByItems), batch(3, head), `200  [{"jsonrpc":"2.0","id":7,"error"`, batch(2, head), `"result":"0x64"`},
		{"a status", providertest.BatchLimit(2, providertest.ByStatus), batch(3, head), "413", batch(2, head), `"result":"0x64"`},
		{"no batches", providertest.NoBatches(), batch(1, head), `200  {`, head, `"result":"0x64"`},
		{"allow-list", providertest.AllowList("eth_blockNumber"), batch(1, head+","+config), "403", head, `"result":"0x64"`},
		{"rate", providertest.RateLimit(1, 2, true), batch(20, head), "429 19", head, `"result":"0x64"`},
		{"size", providertest.AnswerLimit(60), batch(2, head), "-32008", head, `"result":"0x64"`},
		{"half", providertest.Half(), head, `200  {"jsonrpc":"2.0"`, head, `200`},
		{"doubled", providertest.Doubled(), batch(2, head), `"0x64"}`, head, `"result":"0x64"`},
		{"a page", providertest.Page(200, "<html>"), head, "<html>", head, "<html>"},
		{"gateway", providertest.Gateway("eth_config", 504), config, "504", head, `"result":"0x64"`},
		{"trickle", providertest.Trickle(3, time.Millisecond), head, `"result":"0x64"}`, head, `"result":"0x64"}`},
		{"gzip", providertest.Gzip(), head, `"result":"0x64"}`, head, `"result":"0x64"}`},
	} {
		p := start(t, func(p *providertest.Provider) { p.Carries(c.transport) })
		if got := post(t, p, c.ask); !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
		if p.Strikes() == 0 {
			t.Errorf("%s: no strike is counted", c.name)
		}
		if got := post(t, p, c.kept); !strings.Contains(got, c.same) {
			t.Errorf("%s: got %s, want %s as from the node", c.name, got, c.same)
		}
	}
}

// A provider counts what comes and what it refuses, and keeps back what it is told to.
func TestCounts(t *testing.T) {
	t.Parallel()
	p := start(t, func(p *providertest.Provider) {
		p.Carries(providertest.AllowList("eth_sendRawTransaction", "eth_blockNumber"))
	})
	signed := providertest.NewKey(t).Stranger(t, 1, 3)
	p.Hold.On()
	if got := post(t, p, call("eth_sendRawTransaction", signed.Raw)); !strings.Contains(got, signed.Hash) {
		t.Errorf("got %s, want the hash %s", got, signed.Hash)
	}
	post(t, p, batch(3, call("eth_config")))
	if p.Requests() != 2 || p.Refused() != 3 || p.Calls()["eth_config"] != 3 {
		t.Errorf("got %d requests, %d refused calls, calls %v; want 2, 3 and 3 of eth_config", p.Requests(), p.Refused(), p.Calls())
	}
	if sent := p.Sent(); len(sent) != 1 || sent[0].Nonce != 3 || sent[0].Hash != signed.Hash {
		t.Errorf("got %+v, want the transaction with nonce 3", sent)
	}
}

// Every profile has a name of its own and says who does this. Its behaviours can be installed.
func TestProfiles(t *testing.T) {
	t.Parallel()
	for _, full := range []bool{false, true} {
		seen := map[string]bool{}
		for _, p := range providertest.Profiles(full) {
			if p.Name == "" || p.Who == "" || p.Finding == "" || seen[p.Name] || p.Fault == providertest.Lasting && len(p.Says) == 0 {
				t.Errorf("%q: a field is missing, or the name is there twice", p.Name)
			}
			seen[p.Name] = true
			providertest.Start(t, fakeNode(t), p)
		}
	}
}
