package substratetest

import "context"

// Serve answers a message of a client that has no connection, and returns what is sent.
func (e *Endpoint) Serve(message []byte) [][]byte {
	c := &conn{endpoint: e, subscriptions: map[string]*subscription{}, woken: make(chan struct{}, 1)}
	c.ctx, c.end = context.WithCancel(e.ctx)
	defer c.end()
	c.serve(message)
	e.do(func() {
		for _, s := range c.subscriptions {
			e.node.forget(s)
		}
	})
	return c.queue
}
