package evm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/chain/evm/internal/providertest"
)

// W18: however an endpoint refuses large requests, reads are complete and each attempt is sent; what it
// takes is remembered.
func TestBatchesShrink(t *testing.T) {
	t.Parallel()
	for _, most := range []int{1, 10, 100} {
		for _, how := range []string{"object", "items", "413"} {
			t.Run(fmt.Sprint(how, " above ", most), func(t *testing.T) {
				t.Parallel()
				p := &frugal{most: most, how: how, sent: map[string]int{}}
				server := httptest.NewServer(p)
				t.Cleanup(server.Close)
				c := open(t, evm.Config{ChainID: 1337, URL: server.URL})
				hashes := make([]chain.Hash, 250)
				if seen, err := c.Probe(t.Context(), hashes); err != nil || len(seen) != len(hashes) {
					t.Fatalf("got %d answers, %v, want %d", len(seen), err, len(hashes))
				}
				attempts := make([]chain.Signed, 250)
				for i := range attempts {
					name := named(i)
					attempts[i] = chain.Signed{Index: uint64(i), Hash: chain.Hash(name[:]), Bytes: name[:]}
				}
				for i, o := range c.Submit(t.Context(), attempts) {
					if o.Verdict != chain.Accepted {
						t.Fatalf("attempt %d: got %v (%s), want accepted", i, o.Verdict, o.Text)
					}
				}
				p.mu.Lock()
				defer p.mu.Unlock()
				if len(p.sent) != len(attempts) {
					t.Errorf("%d attempts were sent, want %d", len(p.sent), len(attempts))
				}
				if p.refused > 20 {
					t.Errorf("%d requests were refused, want a few: what is taken is remembered", p.refused)
				}
			})
		}
	}
}

// W18: where answers have a limit, the endpoint's or the configured one, reads are complete. A send is made once,
// however large its answer is: it may have been carried out.
func TestAnswersShrink(t *testing.T) {
	t.Parallel()
	const limit = 2000
	for name, cfg := range map[string]evm.Config{"the endpoint's": {}, "the configured one": {MaxAnswer: limit}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := &frugal{most: 1000, sent: map[string]int{}}
			server := httptest.NewServer(node)
			t.Cleanup(server.Close)
			p := providertest.Start(t, providertest.NodeAt(t, server.URL), providertest.Profile{Install: func(p *providertest.Provider) {
				if cfg.MaxAnswer == 0 {
					p.Carries(providertest.AnswerLimit(limit))
				}
			}})
			cfg.ChainID, cfg.URL = 1337, p.HTTP()
			c := open(t, cfg)
			for range 2 {
				if seen, err := c.Probe(t.Context(), make([]chain.Hash, 250)); err != nil || len(seen) != 250 {
					t.Fatalf("got %d answers, %v, want 250", len(seen), err)
				}
			}
			if n := p.Requests(); n > 30 {
				t.Errorf("%d requests were made, want a few more than the 20 that fit: what fits is remembered", n)
			}
			attempts := make([]chain.Signed, 250)
			for i := range attempts {
				name := named(i)
				attempts[i] = chain.Signed{Index: uint64(i), Hash: chain.Hash(name[:]), Bytes: name[:]}
			}
			for i, o := range c.Submit(t.Context(), attempts) {
				if o.Verdict != chain.Unknown {
					t.Fatalf("attempt %d: got %v, want unknown", i, o.Verdict)
				}
			}
			for raw, times := range node.sent {
				if times > 1 {
					t.Errorf("%q was sent %d times, want once", raw, times)
				}
			}
		})
	}
}

// frugal is an endpoint that takes no more than most calls in a request.
type frugal struct {
	most int
	how  string

	mu      sync.Mutex
	sent    map[string]int
	refused int
}

func (p *frugal) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/json")
	var calls []rpcCall
	if json.Unmarshal(body, &calls) != nil {
		var one rpcCall
		_ = json.Unmarshal(body, &one)
		fmt.Fprint(w, one.say(p.answer))
		return
	}
	if len(calls) > p.most || p.most == 1 {
		p.refuse(w, calls)
		return
	}
	var all []string
	for _, c := range calls {
		all = append(all, c.say(p.answer))
	}
	fmt.Fprintf(w, "[%s]", strings.Join(all, ","))
}

func (p *frugal) refuse(w http.ResponseWriter, calls []rpcCall) {
	p.mu.Lock()
	p.refused++
	p.mu.Unlock()
	switch p.how {
	case "413":
		http.Error(w, "Payload Too Large", http.StatusRequestEntityTooLarge)
	case "object":
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batch too large"}}`)
	case "items":
		var all []string
		for _, c := range calls {
			all = append(all, c.say(func(string, []json.RawMessage) any { return fault{-32600, "batch too large"} }))
		}
		fmt.Fprintf(w, "[%s]", strings.Join(all, ","))
	}
}

func (p *frugal) answer(method string, params []json.RawMessage) any {
	switch method {
	case "eth_getTransactionByHash":
		return nil
	case "eth_sendRawTransaction":
		var raw hexutil.Bytes
		_ = json.Unmarshal(params[0], &raw)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.sent[string(raw)]++
		return raw
	}
	return healthy(method, params)
}

// W16: a gateway that refuses a whole request for one method that it does not know is served all the same.
func TestOptionalMethodsAreAskedAlone(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"eth_chainId": true, "eth_getBlockByNumber": true, "eth_getTransactionByHash": true}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var calls []rpcCall
		if json.Unmarshal(body, &calls) != nil {
			calls = make([]rpcCall, 1)
			_ = json.Unmarshal(body, &calls[0])
		}
		var all []string
		for _, c := range calls {
			if !known[c.Method] {
				http.Error(w, "method not allowed: "+c.Method, http.StatusForbidden)
				return
			}
			all = append(all, c.say(func(method string, params []json.RawMessage) any {
				if method == "eth_getTransactionByHash" {
					return nil
				}
				return healthy(method, params)
			}))
		}
		w.Header().Set("Content-Type", "application/json")
		if body[0] == '[' {
			fmt.Fprintf(w, "[%s]", strings.Join(all, ","))
			return
		}
		fmt.Fprint(w, all[0])
	}))
	t.Cleanup(server.Close)
	c := open(t, evm.Config{ChainID: 1337, URL: server.URL})
	if _, err := c.Describe(t.Context()); err != nil {
		t.Fatal(err)
	}
	if seen, err := c.Probe(t.Context(), make([]chain.Hash, 3)); err != nil || len(seen) != 3 {
		t.Errorf("got %v, %v, want three answers", seen, err)
	}
}

// A fork of a chain has its ID and another first block.
func TestAnotherFirstBlockIsAnotherChain(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	first := byte(1)
	c := open(t, evm.Config{ChainID: 1337, Depth: 1, URL: serve(t, func(method string, params []json.RawMessage) any {
		mu.Lock()
		defer mu.Unlock()
		if method == "eth_getBlockByNumber" && string(params[0]) == `"0x0"` {
			b, _ := healthy(method, nil).(map[string]any)
			b["hash"] = hexutil.Bytes(append(make([]byte, 31), first))
			return b
		}
		return healthy(method, params)
	})})
	if _, err := c.Describe(t.Context()); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	first = 2
	mu.Unlock()
	if _, err := c.Describe(t.Context()); !errors.Is(err, chain.ErrForeign) {
		t.Errorf("block 0 has changed: got %v, want %v", err, chain.ErrForeign)
	}
}
