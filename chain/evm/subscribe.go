package evm

import (
	"context"
	"encoding/json"
	"strings"
)

// subscribe wakes whoever follows, if the endpoint can. It is no more than that: a
// subscription that ends or never was is replaced by the poll. So nobody waits for it,
// neither to begin nor to end; what a node leaves without an answer it gives up.
func (c *Chain) subscribe(ctx context.Context) (news <-chan json.RawMessage, stop func()) {
	if !strings.HasPrefix(c.cfg.URL, "ws") {
		return nil, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	heads := make(chan json.RawMessage, 64)
	go c.listen(ctx, heads)
	return heads, cancel
}

// listen subscribes until ctx ends. It ends soon after: to begin takes as long as a
// request at most, and the library bounds what it asks for at the end.
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
	case heads <- nil: // what came before it was there, nobody told
	default:
	}
	select {
	case <-ctx.Done():
	case <-sub.Err(): //nolint:errcheck // whatever ended it, the poll goes on
	}
}
