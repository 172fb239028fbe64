package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// line is one connection. It is safe for concurrent use; one goroutine reads.
type line struct {
	conn    *websocket.Conn
	cfg     Config
	ctx     context.Context //nolint:containedctx // of the connection: to end that of a call would end the connection
	cancel  context.CancelFunc
	redact  func(string) string
	free    func()     // is called once for each call that waits no more
	waiting sync.Mutex // guards what is below

	last  uint64 // the ID of the newest call
	waits map[uint64]*wait
	subs  map[string]*Subscription // by what the endpoint calls them
	heard time.Time                // when something last came
	why   error                    // it has ended; nil while it lasts
}

// wait is a call without an answer.
type wait struct {
	id     uint64
	method string
	sub    *Subscription // it asks for this one; nil: for none
	sent   time.Time
	done   chan struct{} // closed once there is a result or an error
	result json.RawMessage
	err    error
}

func newLine(conn *websocket.Conn, c *Client) *line {
	ctx, cancel := context.WithCancel(context.Background())
	return &line{
		conn: conn, cfg: c.cfg, ctx: ctx, cancel: cancel, redact: c.redact, free: func() { <-c.open },
		waits: map[uint64]*wait{}, subs: map[string]*Subscription{}, heard: time.Now(),
	}
}

// send writes a call, for which the caller has a place among those that wait; it is freed if there is an error. Its caller may hang
// up: the connection does not end with it.
func (l *line) send(sub *Subscription, method string, args []any) (*wait, error) {
	if args == nil {
		args = []any{}
	}
	w := &wait{method: method, sub: sub, sent: time.Now(), done: make(chan struct{})}
	l.waiting.Lock()
	if l.why != nil {
		defer l.waiting.Unlock()
		l.free()
		return nil, l.why
	}
	l.last++
	w.id = l.last
	l.waits[w.id] = w
	l.waiting.Unlock()
	text, err := json.Marshal(struct {
		Version string `json:"jsonrpc"`
		ID      uint64 `json:"id"`
		Method  string `json:"method"`
		Params  []any  `json:"params"`
	}{"2.0", w.id, method, args})
	if err != nil {
		l.forget(w)
		return nil, err
	}
	ctx, cancel := context.WithTimeout(l.ctx, l.cfg.Timeout)
	defer cancel()
	if err := l.conn.Write(ctx, websocket.MessageText, text); err != nil {
		l.forget(w)
		l.end(err)
		return nil, err
	}
	return w, nil
}

// forget drops a call for whose answer nobody waits any more.
func (l *line) forget(w *wait) {
	l.waiting.Lock()
	defer l.waiting.Unlock()
	if _, has := l.waits[w.id]; has {
		delete(l.waits, w.id)
		l.free()
	}
}

// silentSince reports whether nothing has come since a call was sent, and that was a while ago.
func (l *line) silentSince(w *wait) bool {
	l.waiting.Lock()
	defer l.waiting.Unlock()
	return w.sent.After(l.heard) && time.Since(w.sent) >= l.cfg.Timeout/2
}

func (l *line) fault() error {
	l.waiting.Lock()
	defer l.waiting.Unlock()
	return l.why
}

// end ends the connection, and with an error every call and subscription on it.
func (l *line) end(why error) {
	l.waiting.Lock()
	if l.why != nil {
		l.waiting.Unlock()
		return
	}
	l.why = why
	waits, subs := l.waits, l.subs
	l.waits, l.subs = nil, nil
	l.waiting.Unlock()
	for _, w := range waits {
		w.err = why
		close(w.done)
		l.free()
	}
	for _, s := range subs {
		s.end()
	}
	l.cancel()
	_ = l.conn.CloseNow()
}

// message is whatever the endpoint sends: an answer, or news of a subscription.
type message struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
	Params struct {
		Subscription json.RawMessage `json:"subscription"`
		Result       json.RawMessage `json:"result"`
	} `json:"params"`
}

// read takes what comes until the connection ends.
func (l *line) read() {
	for {
		_, text, err := l.conn.Read(l.ctx)
		if err != nil {
			l.end(err)
			return
		}
		if text = bytes.TrimSpace(text); len(text) > 0 && text[0] == '[' {
			var all []message
			if err = json.Unmarshal(text, &all); err == nil {
				for i := range all {
					l.take(&all[i])
				}
			}
		} else {
			var one message
			if err = json.Unmarshal(text, &one); err == nil {
				l.take(&one)
			}
		}
		if err != nil {
			l.end(errNonsense) // nothing after it can be relied on
			return
		}
	}
}

var errNonsense = errors.New("what came on the connection is not JSON-RPC")

// take takes one message.
func (l *line) take(m *message) {
	l.waiting.Lock()
	l.heard = time.Now()
	if len(m.Params.Subscription) > 0 {
		sub := l.subs[string(m.Params.Subscription)]
		l.waiting.Unlock()
		if sub != nil {
			sub.tell(m.Params.Result)
		}
		return
	}
	defer l.waiting.Unlock()
	var id uint64
	if json.Unmarshal(m.ID, &id) != nil {
		return
	}
	w := l.waits[id]
	if w == nil {
		return // it comes too late
	}
	delete(l.waits, id)
	l.free()
	if w.result = m.Result; m.Error != nil {
		e := &Error{Method: w.method, By: Shown(l.cfg.URL), Code: m.Error.Code, Message: l.redact(m.Error.Message), Data: m.Error.Data}
		if detail := string(bytes.Trim(m.Error.Data, `"`)); detail != "null" {
			e.Detail = l.redact(detail)
		}
		w.err = e
	} else if w.sub != nil {
		w.sub.id = m.Result
		l.subs[string(m.Result)] = w.sub
	}
	close(w.done)
}
