package evm_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/chain/evm/internal/providertest"
)

// growing answers for a chain whose head rises with each look at it.
func growing() server {
	var head atomic.Uint64
	return func(method string, params []json.RawMessage) any {
		if method != "eth_getBlockByNumber" && method != "eth_getBlockByHash" {
			return healthy(method, params)
		}
		var tag hexutil.Bytes
		n := uint64(0)
		switch {
		case string(params[0]) == `"latest"`:
			n = head.Add(1)
		case json.Unmarshal(params[0], &tag) == nil && len(tag) == 32:
			for _, b := range tag {
				n = n<<8 | uint64(b)
			}
		case string(params[0]) == `"finalized"`:
			return nil
		}
		return map[string]any{
			"number": hexutil.Uint64(n), "hash": heightHash(n), "parentHash": heightHash(max(n, 1) - 1),
			"gasLimit": "0x1c9c380", "baseFeePerGas": "0x7",
		}
	}
}

// heightHash is the hash of a block of growing.
func heightHash(n uint64) hexutil.Bytes {
	h := make([]byte, 32)
	for i := 31; n > 0; i, n = i-1, n>>8 {
		h[i] = byte(n)
	}
	return h
}

// W4: a WebSocket that stays open and falls silent is given up long before a request's time is over, whether it
// answers pings or not, and what was asked is asked over a new one. Nobody is told of an error.
func TestASilentLineIsGivenUp(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"socket-deaf", "socket-pings-only"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := providertest.Start(t, providertest.NodeAt(t, serve(t, growing())), profileOf(t, name))
			c := open(t, evm.Config{ChainID: 1337, URL: p.WS(), Poll: 10 * time.Millisecond, Timeout: time.Hour})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var deaf, last uint64
			for turn, err := range c.Heads(ctx, chain.Block{}) {
				if err != nil {
					t.Fatalf("after block %d: got the error %v, want a new connection", last, err)
				}
				switch last = turn.Block.Number; {
				case deaf == 0 && last >= 5:
					deaf = last
					p.Deafen()
				case deaf > 0 && last > deaf+5:
					return
				}
			}
			t.Errorf("the heads ended at block %d", last)
		})
	}
}

func profileOf(t *testing.T, name string) providertest.Profile {
	t.Helper()
	for _, p := range providertest.Profiles(false) {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("no profile %q", name)
	return providertest.Profile{}
}

// A line may be silent for the time of a block and for four looks, and never longer than a request may take.
// A server that answers one request after the other seems silent during a slow one: it gets more time.
func TestPatience(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		poll     time.Duration
		heads    []uint64
		every    time.Duration
		silences int
		want     time.Duration
	}{
		"no head yet":              {500 * time.Millisecond, nil, 0, 0, 10 * time.Second},
		"one head":                 {500 * time.Millisecond, []uint64{7}, time.Second, 0, 10 * time.Second},
		"blocks of 250 ms":         {500 * time.Millisecond, []uint64{7, 9, 11}, 500 * time.Millisecond, 0, 2 * time.Second},
		"blocks of 4 s":            {500 * time.Millisecond, []uint64{7, 8, 9}, 4 * time.Second, 0, 4 * time.Second},
		"blocks of 12 s":           {500 * time.Millisecond, []uint64{7, 8}, 12 * time.Second, 0, 10 * time.Second},
		"a short poll":             {50 * time.Millisecond, []uint64{7, 8}, 100 * time.Millisecond, 0, time.Second},
		"lower heads say nothing":  {50 * time.Millisecond, []uint64{7, 8, 3, 4}, time.Second, 0, time.Second},
		"it fell silent twice":     {500 * time.Millisecond, []uint64{7, 9}, 500 * time.Millisecond, 2, 8 * time.Second},
		"it falls silent for ever": {500 * time.Millisecond, []uint64{7, 9}, 500 * time.Millisecond, 90, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				one, err := evm.New(evm.Config{ChainID: 1337, URL: "ws://127.0.0.1:1", Poll: c.poll})
				if err != nil {
					t.Fatal(err)
				}
				if got := evm.Patience(one, c.heads, func() { time.Sleep(c.every) }, c.silences); got != c.want {
					t.Errorf("got %v, want %v", got, c.want)
				}
				time.Sleep(11 * time.Minute)
				if got := evm.Patience(one, nil, nil, 0); c.silences == 2 && got != 2*time.Second {
					t.Errorf("after ten minutes: got %v, want it as short as before", got)
				}
			})
		})
	}
}
