package evm_test

import (
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/chain/evm/internal/budget"
)

// W9: what an account's others wait for goes before what is new.
func TestTheUrgencyOfASend(t *testing.T) {
	t.Parallel()
	if got := evm.UrgencyOfSend(chain.Purpose{Front: true}.In(t.Context())); got != budget.Front {
		t.Errorf("the front has urgency %d, want %d", got, budget.Front)
	}
	if got := evm.UrgencyOfSend(t.Context()); got != budget.Sends {
		t.Errorf("what is new has urgency %d, want %d", got, budget.Sends)
	}
}

// W9, S15: a send does not wait for long, since its caller holds the gate's door: it is not sent.
func TestASendDoesNotWaitForTheAllowance(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	c := open(t, evm.Config{ChainID: 1337, URL: serve(t, func(method string, params []json.RawMessage) any {
		if method == "eth_sendRawTransaction" {
			sent.Add(1)
		}
		return healthy(method, params)
	})})
	if _, err := c.Describe(t.Context()); err != nil {
		t.Fatal(err)
	}
	evm.TakesNoMore(c, time.Minute)
	got := c.Submit(t.Context(), []chain.Signed{{Hash: "h"}, {Hash: "i"}})
	for _, o := range got {
		if o.Verdict != chain.Refused || !strings.Contains(o.Text, "not sent") || o.By == "" {
			t.Errorf("got %+v, want that it is not sent", o)
		}
	}
	if len(got) != 2 || sent.Load() > 0 {
		t.Errorf("got %d outcomes, and %d were sent; want 2 and none", len(got), sent.Load())
	}
}

// W9: a batch of sends that costs more than a second's units goes in parts.
func TestABatchThatCostsMuch(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	c := open(t, evm.Config{ChainID: 1337, MaxCallsPerSecond: 500, Costs: map[string]float64{"eth_sendRawTransaction": 40}, URL: serve(t, func(method string, params []json.RawMessage) any {
		if method == "eth_sendRawTransaction" {
			sent.Add(1)
			return hexutil.Bytes("right")
		}
		return healthy(method, params)
	})})
	attempts := make([]chain.Signed, 30)
	for i := range attempts {
		attempts[i] = chain.Signed{Hash: "right", Index: uint64(i)}
	}
	for deadline := time.Now().Add(30 * time.Second); sent.Load() < 30; {
		c.Submit(t.Context(), attempts[sent.Load():])
		if time.Now().After(deadline) {
			t.Fatalf("%d of 30 were sent in half a minute", sent.Load())
		}
	}
}
