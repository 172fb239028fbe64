package evm_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
)

// Reads are complete over a connection that loses one answer in three.
func TestReadsInsist(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	luck := rand.New(rand.NewPCG(4, 2))
	c := open(t, evm.Config{ChainID: 1337, URL: serve(t, func(method string, params []json.RawMessage) any {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case luck.IntN(3) == 0:
			return errNoAnswer
		case method == "eth_getTransactionByHash" && luck.IntN(10) == 0:
			return errors.New("try again")
		case method == "eth_getTransactionByHash":
			return nil
		}
		return healthy(method, params)
	})})
	hashes := make([]chain.Hash, 200)
	for range 5 {
		if seen, err := c.Probe(t.Context(), hashes); err != nil || len(seen) != len(hashes) {
			t.Fatal(err)
		}
	}
}

// After a silence another node may answer. Its answers count only if it serves the same chain.
func TestARepeatedReadChecksTheChain(t *testing.T) {
	t.Parallel()
	silenced := false
	c := open(t, evm.Config{ChainID: 1337, URL: serve(t, func(method string, params []json.RawMessage) any {
		switch {
		case method == "eth_getTransactionByHash" && !silenced:
			silenced = true
			return errNoAnswer
		case method == "eth_chainId" && silenced:
			return "0x1"
		case method == "eth_getTransactionByHash":
			return nil
		}
		return healthy(method, params)
	})})
	if _, err := c.Probe(t.Context(), make([]chain.Hash, 1)); !errors.Is(err, chain.ErrForeign) {
		t.Errorf("another chain answers: got error %v, want %v", err, chain.ErrForeign)
	}
}

// A missing answer does not mean that the chain lacks the tag "finalized".
func TestALostAnswerIsNoFact(t *testing.T) {
	t.Parallel()
	lose := 2 * maxTries
	c := open(t, evm.Config{ChainID: 1337, URL: serve(t, func(method string, params []json.RawMessage) any {
		if len(params) > 0 && string(params[0]) == `"finalized"` && lose > 0 {
			lose--
			return errNoAnswer
		}
		return healthy(method, params)
	})})
	for {
		d, err := c.Describe(t.Context())
		if err == nil && d.Depth != 0 {
			t.Fatalf("got finality at depth %d, want that of the tag", d.Depth)
		}
		if err == nil && lose == 0 {
			return
		}
		if err == nil || !errors.Is(err, chain.ErrUnreachable) {
			t.Fatalf("got error %v with %d answers still to lose, want %v until they are lost", err, lose, chain.ErrUnreachable)
		}
	}
}

// A rate limit does not mean that either. Otherwise transactions would be final too early.
func TestTooManyRequestsIsNoFact(t *testing.T) {
	t.Parallel()
	enough := true
	c := open(t, evm.Config{ChainID: 1337, URL: serve(t, func(method string, params []json.RawMessage) any {
		if len(params) > 0 && string(params[0]) == `"finalized"` && enough {
			return errors.New("Too Many Requests: the rate limit is reached")
		}
		return healthy(method, params)
	})})
	if d, err := c.Describe(t.Context()); !errors.Is(err, chain.ErrAnswer) {
		t.Fatalf("at a rate limit: got %+v, %v, want %v", d, err, chain.ErrAnswer)
	}
	enough = false
	if d, err := c.Describe(t.Context()); err != nil || d.Depth != 0 {
		t.Errorf("got %+v, %v, want no error and the finality of the tag", d, err)
	}
}

const maxTries = 5 // as in the driver

// After Describe has found another chain, nothing is read from the endpoint.
func TestAnEndpointThatChangesItsChain(t *testing.T) {
	t.Parallel()
	var foreign atomic.Bool
	c := open(t, evm.Config{ChainID: 1337, URL: serve(t, func(method string, params []json.RawMessage) any {
		if method == "eth_chainId" && foreign.Load() {
			return "0x1"
		}
		switch method { // all methods succeed, so nothing is asked twice
		case "eth_getTransactionCount":
			return "0x7"
		case "eth_config":
			return map[string]any{}
		case "eth_getHeaderByNumber":
			method = "eth_getBlockByNumber"
		}
		return healthy(method, params)
	})})
	if _, err := c.Describe(t.Context()); err != nil {
		t.Fatal(err)
	}
	foreign.Store(true)
	_, err := c.Describe(t.Context())
	wraps(t, err, chain.ErrForeign)
	_, err = c.Next(t.Context(), "a")
	wraps(t, err, chain.ErrForeign)
	foreign.Store(false)
	if next, err := c.Next(t.Context(), "a"); err != nil || next != 7 {
		t.Errorf("the chain is back: got next nonce %d, %v, want 7", next, err)
	}
}
