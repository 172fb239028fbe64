package node_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/crypto/blake2b"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/substrate/internal/node"
	"github.com/conchhq/conch/chain/substrate/internal/rpc"
	"github.com/conchhq/conch/chain/substrate/internal/trie"
	"github.com/conchhq/conch/chain/substrate/scale"
)

const patience = 30 * time.Second

// block is a block of a fake.
type block struct {
	chain.Block
	header string
	body   [][]byte
	spec   int // the version of the runtime in its state
}

// fake is a node that lies when it is told to. It hashes with code of its own. What it answers, answer may change.
type fake struct {
	*httptest.Server
	t *testing.T

	mu      sync.Mutex
	known   map[chain.Hash]*block
	best    []*block
	final   int
	forks   byte
	asked   map[string]int
	subs    map[int]*websocket.Conn
	lastSub int
	deaf    bool // it takes no subscription
	answer  func(method string, params []json.RawMessage, honest any) any
}

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{t: t, known: map[chain.Hash]*block{}, asked: map[string]int{}, subs: map[int]*websocket.Conn{}}
	f.add(trie.V0, 1)
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = conn.CloseNow() }()
		f.serve(r.Context(), conn)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) head() *block { return f.best[len(f.best)-1] }

// add makes a block on the head. It does not tell anybody.
func (f *fake) add(layout trie.Layout, spec int, body ...string) *block {
	b := &block{spec: spec}
	parent := chain.Hash(make([]byte, 32))
	var logs []string
	if len(f.best) > 0 {
		b.Number, parent = f.head().Number+1, f.head().Hash
		if f.head().spec != spec {
			logs = append(logs, "08")
		}
	}
	logs = append(logs, fmt.Sprintf("0642414245%02x", f.forks))
	for _, one := range body {
		b.body = append(b.body, []byte(one))
	}
	root := trie.OrderedRoot(layout, b.body)
	var state [32]byte
	binary.LittleEndian.PutUint32(state[:], uint32(spec))
	raw := slices.Concat(scale.AppendCompact([]byte(parent), b.Number), state[:], root[:])
	raw = append(raw, byte(len(logs)<<2))
	for i, log := range logs {
		item, err := chain.ParseHex(log)
		if err != nil {
			panic(err)
		}
		raw = append(raw, item...)
		logs[i] = `"0x` + log + `"`
	}
	sum := blake2b.Sum256(raw)
	b.Hash, b.Parent = chain.Hash(sum[:]), parent
	b.header = fmt.Sprintf(`{"parentHash":"%v","number":"0x%x","stateRoot":"%v","extrinsicsRoot":"%v","digest":{"logs":[%s]}}`,
		parent, b.Number, chain.Hash(state[:]), chain.Hash(root[:]), strings.Join(logs, ","))
	f.known[b.Hash], f.best = b, append(f.best, b)
	return b
}

// do changes the fake, and then tells of a head.
func (f *fake) do(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
	for id, conn := range f.subs {
		news := fmt.Sprintf(`{"jsonrpc":"2.0","method":"chain_newHead","params":{"subscription":%d,"result":%s}}`, id, f.head().header)
		_ = conn.Write(context.Background(), websocket.MessageText, []byte(news))
	}
}

func (f *fake) mine(body ...string) (b *block) {
	f.do(func() { b = f.add(trie.V0, f.head().spec, body...) })
	return b
}

// reorg replaces the newest blocks by others.
func (f *fake) reorg(depth, blocks int) {
	f.do(func() {
		f.best = f.best[:len(f.best)-depth]
		f.forks++
		for range blocks {
			f.add(trie.V0, f.head().spec)
		}
	})
}

func (f *fake) calls(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked[method]
}

func (f *fake) serve(ctx context.Context, conn *websocket.Conn) {
	for {
		_, text, err := conn.Read(ctx)
		if err != nil {
			return
		}
		var one struct {
			ID     json.RawMessage
			Method string
			Params []json.RawMessage
		}
		if json.Unmarshal(text, &one) != nil {
			return
		}
		f.mu.Lock()
		f.asked[one.Method]++
		said := f.honest(one.Method, one.Params, conn)
		if f.answer != nil {
			said = f.answer(one.Method, one.Params, said)
		}
		f.mu.Unlock()
		out := map[string]any{"jsonrpc": "2.0", "id": one.ID, "result": said}
		if fault, is := said.(fault); is {
			delete(out, "result")
			out["error"] = fault
		}
		raw, err := json.Marshal(out)
		if err != nil || conn.Write(ctx, websocket.MessageText, raw) != nil {
			return
		}
	}
}

type fault struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (f *fake) named(params []json.RawMessage, at int) *block {
	if len(params) <= at {
		return f.head()
	}
	var hash node.Bytes
	_ = json.Unmarshal(params[at], &hash)
	return f.known[chain.Hash(hash)]
}

func (f *fake) hashAt(number int) any {
	if number >= len(f.best) {
		return nil
	}
	return f.best[number].Hash
}

func (f *fake) honest(method string, params []json.RawMessage, conn *websocket.Conn) any {
	switch method {
	case "chain_getBlockHash":
		var number int
		var numbers []int
		if json.Unmarshal(params[0], &number) == nil {
			return f.hashAt(number)
		}
		_ = json.Unmarshal(params[0], &numbers)
		var all []any
		for _, n := range numbers {
			all = append(all, f.hashAt(n))
		}
		return all
	case "chain_getHeader":
		if b := f.named(params, 0); b != nil {
			return json.RawMessage(b.header)
		}
		return nil
	case "chain_getBlock":
		b := f.named(params, 0)
		if b == nil {
			return nil
		}
		body := []node.Bytes{}
		for _, one := range b.body {
			body = append(body, one)
		}
		return map[string]any{"block": map[string]any{"header": json.RawMessage(b.header), "extrinsics": body}, "justifications": nil}
	case "chain_getFinalizedHead":
		return f.best[f.final].Hash
	case "state_getRuntimeVersion":
		if b := f.named(params, 0); b != nil {
			return map[string]any{"specName": "fake", "specVersion": b.spec, "transactionVersion": 7}
		}
		return fault{Code: 4003, Message: "Client error: UnknownBlock: Header was not found in the database"}
	case "system_health":
		return map[string]any{"peers": 1, "isSyncing": false}
	case "chain_subscribeNewHeads", "chain_subscribeFinalizedHeads":
		if f.deaf {
			return fault{Code: rpc.CodeMethod, Message: "Method not found"}
		}
		f.lastSub++
		f.subs[f.lastSub] = conn
		return f.lastSub
	case "chain_unsubscribeNewHeads", "chain_unsubscribeFinalizedHeads":
		var id int
		_ = json.Unmarshal(params[0], &id)
		delete(f.subs, id)
		return true
	}
	return fault{Code: rpc.CodeMethod, Message: "Method not found"}
}

// view opens a view of the fake.
func (f *fake) view(edit ...func(*node.Config)) *node.View {
	f.t.Helper()
	cfg := node.Config{Endpoint: rpc.Config{URL: "ws" + strings.TrimPrefix(f.URL, "http")}, Genesis: f.best[0].Hash, Poll: 5 * time.Millisecond, Anyway: time.Hour}
	for _, e := range edit {
		e(&cfg)
	}
	v := node.New(cfg)
	f.t.Cleanup(v.Close)
	return v
}

func brief(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}
