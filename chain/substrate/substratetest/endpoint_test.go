package substratetest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/conchhq/conch/chain/substrate/substratetest"
)

// TestRPC: what a node says of calls that are none, of batches, and of notifications.
func TestRPC(t *testing.T) {
	t.Parallel()
	alice := newKey(t, kindEd25519, 1)
	cfg := rich(alice)
	cfg.Batch = 3
	node := start(t, cfg)
	c := dial(t, node.URL())
	for _, one := range []struct{ ask, want string }{
		{`{`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`},
		{`[{]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`},
		{`[]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request"}}`},
		{`7`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request"}}`},
		{`{"id":{},"method":"system_name"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request"}}`},
		{`{"id":"a"}`, `{"jsonrpc":"2.0","id":"a","error":{"code":-32600,"message":"Invalid request"}}`},
		{`{"id":1,"method":"eth_chainId"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}`},
		{`{"id":1,"method":"archive_v1_body","params":["0x"]}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}`},
		{`{"id":1,"method":"system_name","params":{}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params"}}`},
		{`{"id":1,"method":"state_getStorage"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: argument 0 is missing"}}`},
		{`{"id":1,"method":"chain_getHeader","params":[7]}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: argument 0"}}`},
		{`{"id":"x","method":"system_name"}`, `{"jsonrpc":"2.0","id":"x","result":"substratetest"}`},
		{`[{"id":1,"method":"system_name"},{"method":"system_name"},{"id":2,"method":"no"}]`, `[{"jsonrpc":"2.0","id":1,"result":"substratetest"},{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found"}}]`},
		{`[1,2,3,4]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32010,"message":"The batch request was too large"}}`},
	} {
		c.write(one.ask)
		got, err := c.read()
		ok(t, err)
		if string(got) != one.want {
			t.Errorf("%s is answered with %s, want %s", one.ask, got, one.want)
		}
	}
	c.write(`[{"id":1,"method":"chain_subscribeNewHeads"}]`)
	var ids []struct {
		Result string `json:"result"`
	}
	got, err := c.read()
	ok(t, err)
	ok(t, json.Unmarshal(got, &ids))
	c.next(ids[0].Result) // the answer comes first, in a batch too
	c.write(`{"id":1,"method":"author_submitAndWatchExtrinsic","params":["` + hexOf(alice.extrinsic(node, draft{})) + `"]}`)
	if got, err = c.read(); err != nil || !strings.Contains(string(got), `"id":1,"result"`) {
		t.Errorf("a stream begins with %s, %v, want its id", got, err)
	}
	var methods struct {
		Methods []string `json:"methods"`
	}
	c.ask(&methods, "rpc_methods")
	if all := fmt.Sprint(methods.Methods); !strings.Contains(all, "author_submitAndWatchExtrinsic") || strings.Contains(all, "archive_v1") || strings.Contains(all, "chainHead") {
		t.Errorf("the methods are %s", all)
	}
}

// TestEveryMethodAnswers calls each method without arguments, with null and with nonsense.
func TestEveryMethodAnswers(t *testing.T) {
	t.Parallel()
	node := start(t, substratetest.Config{Archive: true})
	c := dial(t, node.URL())
	var methods struct {
		Methods []string `json:"methods"`
	}
	c.ask(&methods, "rpc_methods")
	for _, m := range methods.Methods {
		for _, params := range [][]any{{}, {nil}, {"0x", "0x", "0x", "0x"}, {[]any{nil, "0x", -1, 1e99}}, {-1, -1, -1}, {map[string]any{}}, {"0x00", 1e9}, {"0x", 5, "0x"}} {
			_, _ = c.try(m, params...)
		}
	}
	c.ask(nil, "system_health")
	if calls := node.Front().Calls("system_health"); calls < 9 {
		t.Errorf("%d calls were counted", calls)
	}
}

// TestSubscriptionLimit: a connection has 1,024 subscriptions, and the next is refused.
func TestSubscriptionLimit(t *testing.T) {
	t.Parallel()
	node := start(t, substratetest.Config{})
	c := dial(t, node.URL())
	var id string
	for range 1024 {
		c.ask(&id, "chain_subscribeFinalizedHeads")
	}
	c.refuses(-32006, "Exceeded max limit of 1024", "chain_subscribeNewHeads")
	dial(t, node.URL()).ask(nil, "chain_subscribeNewHeads") // another connection has its own
	var gone bool
	c.ask(&gone, "chain_unsubscribeNewHeads", id)
	if gone {
		t.Error("a subscription of another kind was ended")
	}
	if c.ask(&gone, "chain_unsubscribeFinalizedHeads", id); !gone {
		t.Error("a subscription was not ended")
	}
	c.ask(nil, "chain_subscribeNewHeads")
}

// TestEndpointsDiffer: one lags, one is a balancer before unequal nodes; what is above its head an endpoint does not know (Z12).
func TestEndpointsDiffer(t *testing.T) {
	t.Parallel()
	node := start(t, substratetest.Config{})
	node.MineBlocks(5)
	node.Finalize()
	behind, err := node.Endpoint()
	ok(t, err)
	c := dial(t, behind.URL())
	number := func(method string) string {
		var h header
		c.ask(&h, "chain_getHeader", c.text(method))
		return h.Number
	}
	behind.Lag(2)
	head := node.Head().Hash
	if number("chain_getBlockHash") != "0x3" || number("chain_getFinalizedHead") != "0x3" || c.text("chain_getHeader", hexOf(head[:])) != "" {
		t.Error("an endpoint that lags knows the head")
	}
	c.refuses(4003, "UnknownBlock", "state_call", "Core_version", "0x", hexOf(head[:]))
	var id string
	c.ask(&id, "chain_subscribeNewHeads")
	c.next(id)
	node.Mine()
	var h header
	if ok(t, json.Unmarshal([]byte(c.next(id)), &h)); h.Number != "0x4" {
		t.Errorf("the stream says %s, want two below the head", h.Number)
	}
	behind.Mix(0, 3)
	hashes := map[string]int{}
	for range 10 {
		hashes[c.text("chain_getBlockHash")]++
	}
	if len(hashes) != 2 {
		t.Errorf("a balancer before two nodes has the heads %v", hashes)
	}
	behind.Mix()
	if now, then := c.text("chain_getBlockHash"), c.text("chain_getBlockHash"); now != then {
		t.Error("it is one node again, and has two heads")
	}
}

// TestConnections are cut, refused, silent and lose answers (Z19).
func TestConnections(t *testing.T) {
	t.Parallel()
	alice := newKey(t, kindEd25519, 1)
	node := start(t, rich(alice))
	front := node.Front()
	c := dial(t, node.URL())
	var id string
	c.ask(&id, "chain_subscribeNewHeads")
	c.next(id)
	front.Silence(true)
	node.Mine()
	c.silent(id)
	front.Silence(false)
	node.Mine()
	c.next(id)
	front.Answer("author_submitExtrinsic", 429, "Too many requests", nil)
	c.refuses(429, "Too many", submit, hexOf(alice.extrinsic(node, draft{})))
	front.Answer("author_submitExtrinsic", 0, "", nil)
	front.Lose(1)
	if _, err := c.try(submit, hexOf(alice.extrinsic(node, draft{}))); err == nil {
		t.Error("the answer was to be lost")
	}
	if queues(node) != "1 ready, 0 future" {
		t.Errorf("the answer was lost, and the pool has %s", queues(node))
	}
	c = dial(t, node.URL())
	c.refuses(1013, "", submit, hexOf(alice.extrinsic(node, draft{})))
	node.Cut()
	if _, err := c.read(); err == nil {
		t.Error("the connection was to be cut")
	}
	c = dial(t, node.URL())
	front.Down(true)
	if _, err := c.read(); err == nil {
		t.Error("the connection was to be cut")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, answer, err := websocket.Dial(ctx, node.URL(), nil)
	if err == nil || answer == nil || answer.StatusCode != http.StatusServiceUnavailable {
		t.Fatalf("an endpoint that is down is answered with %v, %v", answer, err)
	}
	ok(t, answer.Body.Close())
	front.Down(false)
	dial(t, node.URL()).ask(nil, "system_name")
}

// TestClose: a closed node has no connection, and opens no endpoint.
func TestClose(t *testing.T) {
	t.Parallel()
	node := start(t, substratetest.Config{})
	c := dial(t, node.URL())
	c.ask(nil, "chain_subscribeNewHeads")
	node.Close()
	for {
		if _, err := c.read(); err != nil {
			break
		}
	}
	if _, err := node.Endpoint(); err == nil {
		t.Error("a closed node has opened an endpoint")
	}
	node.Mine() // the chain is still there
	if n := node.Front().Connections(); n != 0 {
		t.Errorf("%d connections are left", n)
	}
}

// TestConfigRefuses what no chain can begin with.
func TestConfigRefuses(t *testing.T) {
	t.Parallel()
	alice := newKey(t, kindEd25519, 1)
	for name, change := range map[string]func(*substratetest.Config){
		"20 bytes":     func(c *substratetest.Config) { c.Ethereum = true },
		"the deposit":  func(c *substratetest.Config) { c.Deposit = 1 << 60 },
		"under nought": func(c *substratetest.Config) { c.Deposit = -1 },
	} {
		cfg := rich(alice)
		change(&cfg)
		if node, err := substratetest.Start(cfg); err == nil {
			node.Close()
			t.Errorf("%s: a chain has begun", name)
		}
	}
}
