package oldhead

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// chain is a node at block 12, of which 9 is final, and says what it was asked.
type chain struct{ head uint64 }

func (c *chain) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var asked call
	if json.Unmarshal(body, &asked) != nil {
		_, _ = w.Write([]byte(`"raw"`))
		return
	}
	result := "[" + string(quoted(asked.Method))
	for _, p := range asked.Params {
		result += "," + string(p)
	}
	result += "]"
	switch {
	case asked.Method == "eth_getBlockByNumber" && string(asked.Params[0]) == `"latest"`:
		result = fmt.Sprintf(`{"number":"0x%x"}`, c.head)
	case asked.Method == "eth_getBlockByNumber" && string(asked.Params[0]) == `"finalized"`:
		result = `{"number":"0x9"}`
	case asked.Method == "eth_getTransactionReceipt", asked.Method == "eth_getTransactionByHash":
		result = fmt.Sprintf(`{"blockNumber":%s,"blockHash":"0xb"}`, asked.Params[0])
	case asked.Method == "eth_getBlockByHash":
		result = fmt.Sprintf(`{"number":%s}`, asked.Params[0])
	}
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, asked.ID, result)
}

func post(t *testing.T, p *Proxy, body string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL(), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	a, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Q10: while it holds, nothing tells the user that there are newer blocks; transactions pass.
func TestTheChainStandsStill(t *testing.T) {
	t.Parallel()
	c := &chain{head: 12}
	node := httptest.NewServer(c)
	defer node.Close()
	p, err := New(node.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if head, err := p.Hold(t.Context()); head != 12 || err != nil {
		t.Fatal(head, err)
	}
	c.head = 40
	if head, err := p.Head(t.Context()); head != 40 || err != nil {
		t.Fatal(head, err)
	}
	ask := func(method, params string) string {
		return strings.TrimSuffix(strings.TrimPrefix(post(t, p, fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":[%s]}`, method, params)), `{"jsonrpc":"2.0","id":7,`), "}")
	}
	for _, q := range []struct{ method, params, want string }{
		{"eth_blockNumber", ``, `"result":"0xc"`},
		{"eth_getBlockByNumber", `"latest",false`, `"result":["eth_getBlockByNumber","0xc",false]`},
		{"eth_getBlockByNumber", `"finalized",false`, `"result":["eth_getBlockByNumber","0x9",false]`},
		{"eth_getBlockByNumber", `"0xc",false`, `"result":["eth_getBlockByNumber","0xc",false]`},
		{"eth_getBlockByNumber", `"0xd",false`, `"result":null`},
		{"eth_getBlockReceipts", `"0xd"`, `"result":null`},
		{"eth_getTransactionCount", `"0xa","latest"`, `"result":["eth_getTransactionCount","0xa","0xc"]`},
		{"eth_getTransactionCount", `"0xa","pending"`, `"result":["eth_getTransactionCount","0xa","pending"]`},
		{"eth_getTransactionCount", `"0xa","0xd"`, `"error":{"code":-32000,"message":"header not found"}`},
		{"eth_estimateGas", `{}`, `"result":["eth_estimateGas",{},"0xc"]`},
		{"eth_call", `{},{"blockHash":"0xb"}`, `"result":["eth_call",{},{"blockHash":"0xb"}]`},
		{"eth_getLogs", `{"fromBlock":"0x2","toBlock":"0x14"}`, `"result":["eth_getLogs",{"fromBlock":"0x2","toBlock":"0xc"}]`},
		{"eth_getLogs", `{"blockHash":"0xb"}`, `"result":["eth_getLogs",{"blockHash":"0xb"}]`},
		{"eth_getTransactionReceipt", `"0xc"`, `"result":{"blockNumber":"0xc","blockHash":"0xb"}`},
		{"eth_getTransactionReceipt", `"0xd"`, `"result":null`},
		{"eth_getBlockByHash", `"0xd"`, `"result":null`},
		{"eth_getTransactionByHash", `"0xd"`, `"result":{"blockHash":null,"blockNumber":null,"blockTimestamp":null,"transactionIndex":null}`},
		{"eth_sendRawTransaction", `"0x02"`, `"result":["eth_sendRawTransaction","0x02"]`},
	} {
		if got := ask(q.method, q.params); got != q.want {
			t.Errorf("%s(%s) is answered with %s, want %s", q.method, q.params, got, q.want)
		}
	}
	if got := post(t, p, `[{"id":1,"method":"eth_blockNumber","params":[]},{"id":2,"method":"eth_getBlockByNumber","params":["0xd",false]}]`); got != `[{"jsonrpc":"2.0","id":1,"result":"0xc"},{"jsonrpc":"2.0","id":2,"result":null}]` {
		t.Errorf("a batch is answered with %s", got)
	}
	p.LetGo()
	if got := ask("eth_getBlockByNumber", `"latest",false`); got != `"result":{"number":"0x28"}` {
		t.Errorf("let go, it says %s, want block 40", got)
	}
}
