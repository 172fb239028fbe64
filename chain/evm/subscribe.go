package evm

import (
	"context"
	"encoding/json"
	"strings"
)

// subscribe returns a channel that wakes Heads at a new head, if the endpoint is a WebSocket.
// The poll replaces a subscription that failed or ended, so nothing waits for it to begin or end.
func (c *Chain) subscribe(ctx context.Context) (news <-chan json.RawMessage, stop func()) {
	if !strings.HasPrefix(c.cfg.URL, "ws") {
		return nil, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	heads := make(chan json.RawMessage, 64)
	go c.listen(ctx, heads)
	return heads, cancel
}

// listen subscribes until ctx ends. Timeout bounds its setup, and the library the unsubscription.
func (c *Chain) listen(ctx context.Context, heads chan json.RawMessage) {
	setup, done := context.WithTimeout(ctx, c.cfg.Timeout)
	defer done()
	client, err := c.endpoint.dial(setup)
	if err != nil {
		return
	}
	sub, err := client.EthSubscribe(setup, heads, "newHeads")
	if err != nil {
		return
	}
	defer sub.Unsubscribe()
	select {
	case heads <- nil: // a head may have come before the subscription was there
	default:
	}
	select {
	case <-ctx.Done():
	case <-sub.Err(): //nolint:errcheck // whatever ended it, the poll goes on
	}
}
