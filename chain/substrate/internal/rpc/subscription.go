package rpc

import (
	"context"
	"encoding/json"
	"sync"
)

// Subscription tells what an endpoint says again and again, until it or its connection ends. Whatever it tells is a hint (Z19): the
// endpoint may leave out, and the connection may be lost without a word.
type Subscription struct {
	client *Client
	line   *line
	id     json.RawMessage // a number or a text, as the endpoint has it
	tell   func(json.RawMessage)
	off    string // the method that ends it
	over   chan struct{}
	once   sync.Once
}

// Subscribe asks for news. tell is called for each of them in order, and must not wait for anything.
func (c *Client) Subscribe(ctx context.Context, tell func(json.RawMessage), on, off string, args ...any) (*Subscription, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.Timeout, errTimeout)
	defer cancel()
	l, err := c.dial(ctx)
	if err != nil {
		return nil, c.fail(on, err)
	}
	s := &Subscription{client: c, line: l, tell: tell, off: off, over: make(chan struct{})}
	w, err := c.begin(ctx, l, s, on, args...)
	if err != nil {
		return nil, err
	}
	return s, c.finish(ctx, l, w, nil)
}

// Done is closed when the subscription has ended.
func (s *Subscription) Done() <-chan struct{} { return s.over }

// Stop ends the subscription. It does not wait for the endpoint.
func (s *Subscription) Stop() {
	s.line.waiting.Lock()
	_, has := s.line.subs[string(s.id)]
	delete(s.line.subs, string(s.id))
	s.line.waiting.Unlock()
	if s.end(); !has {
		return
	}
	select {
	case s.client.open <- struct{}{}:
		if w, err := s.line.send(nil, s.off, []any{s.id}); err == nil {
			s.line.forget(w) // the answer is of no use
		}
	default: // so many calls wait that the connection is likely lost
	}
}

func (s *Subscription) end() { s.once.Do(func() { close(s.over) }) }
