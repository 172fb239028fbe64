package providertest_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain/evm/internal/providertest"
)

const patience = 30 * time.Second

func dial(t *testing.T, p *providertest.Provider) (*rpc.Client, context.Context) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	client, err := rpc.DialContext(ctx, p.WS())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client, ctx
}

// Calls, large batches and subscriptions work over a WebSocket, with the behaviours of the provider.
func TestWebSocket(t *testing.T) {
	t.Parallel()
	p := start(t, func(p *providertest.Provider) { p.Does(providertest.Lag(6)) })
	client, ctx := dial(t, p)
	calls := make([]rpc.BatchElem, 300) // more bytes than one frame of the client's has
	for i := range calls {
		calls[i] = rpc.BatchElem{Method: "eth_blockNumber", Args: []any{}, Result: new(string)}
	}
	if err := client.BatchCallContext(ctx, calls); err != nil || *calls[299].Result.(*string) != "0x5e" {
		t.Errorf("got %v and the head %v, want 0x5e", err, calls[299].Result)
	}
	heads := make(chan json.RawMessage, 8)
	sub, err := client.EthSubscribe(ctx, heads, "newHeads")
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Unsubscribe()
	select {
	case head := <-heads:
		if !strings.Contains(string(head), `"0x64"`) {
			t.Errorf("got the head %s, want 0x64", head)
		}
	case <-ctx.Done():
		t.Error("no head was announced")
	}
}

// A connection that was deafened stays open and has no answer; a new one has.
func TestDeafWebSocket(t *testing.T) {
	t.Parallel()
	p := start(t, nil)
	client, ctx := dial(t, p)
	if err := client.CallContext(ctx, new(string), "eth_blockNumber"); err != nil {
		t.Fatal(err)
	}
	p.Deafen()
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if err := client.CallContext(short, new(string), "eth_blockNumber"); err == nil || p.Sockets() != 1 {
		t.Errorf("got the error %v and %d connections, want no answer and one", err, p.Sockets())
	}
	fresh, ctx := dial(t, p)
	if err := fresh.CallContext(ctx, new(string), "eth_blockNumber"); err != nil {
		t.Error(err)
	}
}
