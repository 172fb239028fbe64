package evm

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/internal/step"
)

// subscribe returns a channel that wakes Heads at a new head, if the endpoint is a WebSocket.
// The poll replaces a subscription that failed or ended, so nothing waits for it to begin or end.
func (c *Chain) subscribe(ctx context.Context) (news <-chan struct{}, stop func()) {
	if !strings.HasPrefix(c.cfg.URL, "ws") {
		return nil, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	heads := step.NewWake()
	go func() {
		for c.listen(ctx, heads) {
			_ = pause.For(ctx, c.cfg.Poll) // ctx is looked at above
		}
	}()
	return heads, cancel
}

// listen subscribes until ctx or the subscription ends, as it does with its connection. It reports whether
// to subscribe again. Timeout bounds its setup, and the library the unsubscription.
func (c *Chain) listen(ctx context.Context, news step.Wake) (again bool) {
	setup, done := context.WithTimeout(ctx, c.cfg.Timeout)
	defer done()
	line, err := c.endpoint.dial(setup)
	if err != nil {
		return ctx.Err() == nil
	}
	heads := make(chan json.RawMessage, 64)
	sub, err := line.client.EthSubscribe(setup, heads, "newHeads")
	if err != nil {
		_, _, spoken := answered(err)
		return !spoken && ctx.Err() == nil // what the endpoint does not have it will not have later
	}
	defer sub.Unsubscribe()
	news.Ring() // a head may have come before the subscription was there
	for {
		select {
		case <-heads:
			line.hears()
			news.Ring()
		case <-ctx.Done():
			return false
		case <-sub.Err(): //nolint:errcheck // whatever ended it, the poll goes on
			return ctx.Err() == nil
		}
	}
}
