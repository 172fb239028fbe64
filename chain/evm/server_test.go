package evm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
)

// server answers one call: a value, nil for null, or an error for a JSON-RPC error.
type server func(method string, params []json.RawMessage) any

// errNoAnswer leaves the answer out.
var errNoAnswer = errors.New("no answer")

func serve(t testing.TB, answer server) string {
	t.Helper()
	return serveSmall(t, math.MaxInt, answer)
}

// serveSmall is serve, without an answer to requests of more calls than so many: their callers hang up.
func serveSmall(t testing.TB, most int, answer server) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		if strings.HasPrefix(string(body), "[") {
			var calls []rpcCall
			_ = json.Unmarshal(body, &calls)
			if len(calls) > most {
				<-r.Context().Done()
				return
			}
			var all []string
			for _, c := range calls {
				if said := c.say(answer); said != "" {
					all = append(all, said)
				}
			}
			fmt.Fprintf(w, "[%s]", strings.Join(all, ","))
			return
		}
		var c rpcCall
		_ = json.Unmarshal(body, &c)
		fmt.Fprint(w, c.say(answer))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// fault is a JSON-RPC error with a code; other errors have -32000.
type fault struct {
	code int
	text string
}

// dataError is a fault with data, hexadecimal digits after 0x.
type dataError struct {
	fault
	data string
}

func (f fault) Error() string { return f.text }

type rpcCall struct {
	ID     json.RawMessage
	Method string
	Params []json.RawMessage
}

func (c rpcCall) say(answer server) string {
	said := answer(c.Method, c.Params)
	if err, failed := said.(error); failed {
		if errors.Is(err, errNoAnswer) {
			return ""
		}
		code, data := -32000, "null"
		if f, is := errors.AsType[fault](err); is {
			code = f.code
		}
		if f, is := errors.AsType[dataError](err); is {
			code, data = f.code, strconv.Quote(f.data)
		}
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q,"data":%s}}`, c.ID, code, err, data)
	}
	text, err := json.Marshal(said)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, c.ID, text)
}

// healthy answers for a chain at its first block.
func healthy(method string, params []json.RawMessage) any {
	switch method {
	case "eth_chainId":
		return "0x539"
	case "eth_getBlockByNumber", "eth_getBlockByHash":
		if len(params) > 0 && string(params[0]) == `"finalized"` {
			return nil // no block is final yet
		}
		return map[string]any{
			"number": "0x0", "hash": hexutil.Bytes(make([]byte, 32)), "parentHash": hexutil.Bytes(make([]byte, 32)),
			"gasLimit": "0x1c9c380", "baseFeePerGas": "0x7",
		}
	case "eth_getBalance":
		return "0xffffffffffffffffff"
	case "eth_maxPriorityFeePerGas":
		return "0x1"
	default:
		return errors.New("the method " + method + " does not exist")
	}
}

// The attempts of a batch without an answer are unknown; the others have their verdicts.
func TestSubmitWithHoles(t *testing.T) {
	t.Parallel()
	asked := 0
	c := open(t, evm.Config{ChainID: 1337, URL: serve(t, func(method string, params []json.RawMessage) any {
		if method != "eth_sendRawTransaction" {
			return healthy(method, params)
		}
		switch asked++; asked {
		case 1:
			return hexutil.Bytes("right")
		case 2:
			return errNoAnswer
		case 3:
			return errors.New("nonce too low")
		case 4:
			return hexutil.Bytes("wrong")
		default:
			return errors.New("a flux capacitor is missing")
		}
	})})
	got := c.Submit(t.Context(), []chain.Signed{{Hash: "right"}, {Hash: "b"}, {Hash: "c"}, {Hash: "d"}, {Hash: "e"}})
	want := []chain.Verdict{chain.Accepted, chain.Unknown, chain.IndexTooLow, chain.Unknown, chain.Unknown}
	for i, o := range got {
		if o.Verdict != want[i] || i > 0 && o.Text == "" {
			t.Errorf("attempt %d: got %v, want %v", i, o, want[i])
		}
	}
}

// Every attempt has the configured chain ID, so a node that calls it wrong is of another chain.
// The attempt is not invalid, and the chain ID is asked for again.
func TestSubmitToAnotherChain(t *testing.T) {
	t.Parallel()
	asked, sent, other := 0, 0, false
	c := open(t, evm.Config{ChainID: 1337, URL: serve(t, func(method string, params []json.RawMessage) any {
		switch {
		case method == "eth_sendRawTransaction" && !other:
			return hexutil.Bytes("h")
		case method == "eth_sendRawTransaction":
			sent++
			return errors.New("invalid sender: invalid chain id for signer: have 1337 want 1")
		case method == "eth_chainId":
			if asked++; other {
				return "0x1"
			}
		}
		return healthy(method, params)
	})})
	send(t, c, []chain.Signed{{Hash: "h"}}, chain.Accepted)
	other, asked = true, 0
	for range 2 {
		send(t, c, []chain.Signed{{Hash: "h"}}, chain.Refused)
	}
	if sent != 1 || asked == 0 {
		t.Errorf("got %d sends to another chain and %d calls for its ID, want 1 send and a call", sent, asked)
	}
}

// After a timeout the node may have the attempts.
func TestTimeoutIsUnknown(t *testing.T) {
	t.Parallel()
	stuck := make(chan struct{})
	c := open(t, evm.Config{ChainID: 1337, Timeout: 200 * time.Millisecond, URL: serve(t, func(method string, params []json.RawMessage) any {
		if method == "eth_sendRawTransaction" {
			<-stuck
		}
		return healthy(method, params)
	})})
	got := c.Submit(t.Context(), []chain.Signed{{Bytes: []byte{1}}, {Bytes: []byte{2}}})
	close(stuck)
	for _, o := range got {
		if o.Verdict != chain.Unknown || !strings.Contains(o.Text, "deadline") {
			t.Errorf("got %v, want unknown and a text about the deadline", o)
		}
	}
}

// No request is above MaxBody, and after one without an answer the rest is not sent.
func TestSubmitInParts(t *testing.T) {
	t.Parallel()
	var sizes []int
	var requests atomic.Int32
	backend := serve(t, healthy)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !strings.Contains(string(body), "eth_sendRawTransaction") {
			resp, err := http.Post(backend, "application/json", strings.NewReader(string(body)))
			if err == nil {
				_, _ = io.Copy(w, resp.Body)
				_ = resp.Body.Close()
			}
			return
		}
		sizes = append(sizes, len(body))
		if requests.Add(1) == 2 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		var calls []rpcCall
		_ = json.Unmarshal(body, &calls)
		var all []string
		for _, c := range calls {
			all = append(all, c.say(func(string, []json.RawMessage) any { return hexutil.Bytes("h") }))
		}
		fmt.Fprintf(w, "[%s]", strings.Join(all, ","))
	}))
	t.Cleanup(s.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	c := open(t, evm.Config{ChainID: 1337, URL: s.URL, MaxBody: 100_000})
	attempts := make([]chain.Signed, 12)
	for i := range attempts {
		attempts[i] = chain.Signed{Hash: "h", Bytes: make([]byte, 15_000)}
	}
	outcomes := c.Submit(t.Context(), attempts)
	for i, o := range outcomes {
		want := chain.Unknown
		if i < 3 {
			want = chain.Accepted
		}
		if o.Verdict != want {
			t.Errorf("attempt %d: got %v, want %v", i, o, want)
		}
	}
	if len(sizes) != 2 {
		t.Errorf("got %d requests, want 2: the second had no answer", len(sizes))
	}
	for _, size := range sizes {
		if size > 100_000 {
			t.Errorf("got a request of %d bytes, want 100000 at most", size)
		}
	}
}

func TestConfigFaults(t *testing.T) {
	t.Parallel()
	k := evm.NewKeystore(newKey(t))
	_, err := evm.New(evm.Config{URL: "ftp://user:hunter2@127.0.0.1/" + secretPath, Signers: []evm.Signer{k, k}, Poll: -1, Depth: 4096})
	for _, says := range []string{`scheme is "ftp"`, "chain ID is missing", "two signers for", "below zero", "4096 blocks below the head"} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got error %v, want it to say %q", err, says)
		}
	}
	formats(t, "a config's faults", err)
}

// socket is a chain of one block behind a WebSocket.
type socket struct {
	ignore chan struct{} // until it is closed subscriptions have no answer
	mute   atomic.Bool   // nothing has an answer
}

func (*socket) ChainId() hexutil.Uint64 { return 1337 } //nolint:staticcheck // the spelling of eth_chainId

func (*socket) GetBlockByNumber(string, bool) any { return healthy("eth_getBlockByNumber", nil) }

func (*socket) GetBlockByHash(string, bool) any { return healthy("eth_getBlockByHash", nil) }

// NewHeads serves eth_subscribe.
func (s *socket) NewHeads(ctx context.Context) (*rpc.Subscription, error) {
	if s.ignore != nil {
		<-s.ignore
	}
	notifier, _ := rpc.NotifierFromContext(ctx)
	return notifier.CreateSubscription(), nil
}

func (s *socket) serve(t *testing.T) (url string) {
	t.Helper()
	server := rpc.NewServer()
	if err := server.RegisterName("eth", s); err != nil {
		t.Fatal(err)
	}
	backend := httptest.NewUnstartedServer(server.WebsocketHandler([]string{"*"}))
	backend.Listener = mutable{backend.Listener, &s.mute}
	backend.Start()
	t.Cleanup(func() {
		server.Stop()
		backend.Close()
	})
	return "ws" + strings.TrimPrefix(backend.URL, "http")
}

// mutable is a listener whose connections write nothing while it is mute.
type mutable struct {
	net.Listener
	mute *atomic.Bool
}

func (m mutable) Accept() (net.Conn, error) {
	c, err := m.Listener.Accept()
	return mutableConn{c, m.mute}, err
}

type mutableConn struct {
	net.Conn
	mute *atomic.Bool
}

func (c mutableConn) Write(b []byte) (int, error) {
	if c.mute.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// A subscription without an answer must not keep Heads from seeing a head.
func TestASubscriptionWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	s := &socket{ignore: make(chan struct{})}
	c := open(t, evm.Config{ChainID: 1337, URL: s.serve(t)})
	t.Cleanup(func() { close(s.ignore) })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for turn, err := range c.Heads(ctx, chain.Block{}) {
		if err != nil || turn.Kind != chain.Applied {
			t.Errorf("got %+v, %v, want a head by the poll", turn, err)
		}
		break
	}
}

// Heads ends without waiting for the answer to an unsubscription.
func TestAnEndOfASubscriptionWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	s := &socket{}
	c := open(t, evm.Config{ChainID: 1337, URL: s.serve(t)})
	var mute time.Time
	for _, err := range c.Heads(t.Context(), chain.Block{}) {
		if err != nil {
			t.Fatal(err)
		}
		mute = time.Now()
		s.mute.Store(true)
		break
	}
	if took := time.Since(mute); took > 5*time.Second {
		t.Errorf("Heads took %v to end, want 5s at most", took)
	}
}
