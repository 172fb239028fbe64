package rpc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/coder/websocket"
)

const (
	defaultTimeout = 10 * time.Second
	defaultAnswer  = 64 << 20
	defaultOpen    = 128
)

// Config configures a Client. URL is required.
type Config struct {
	// URL has the scheme ws or wss. It may carry a secret.
	URL string
	// Header goes with the request that opens a connection.
	Header http.Header
	// Timeout bounds a call, and how long a connection may be silent while calls wait; default 10 s.
	Timeout time.Duration
	// MaxAnswer is the most bytes of one message from the endpoint; default 64 MiB. A larger one ends the connection.
	MaxAnswer int
	// MaxOpen is how many calls wait for their answers at once; default 128.
	MaxOpen int
	// Greet asks a new connection who is there, before anything else is asked. An error ends the connection, and is that of the
	// call for which it was made.
	Greet func(ctx context.Context, ask Ask) error
}

// Ask makes one call, as [Client.Call] does.
type Ask func(ctx context.Context, result any, method string, args ...any) error

// Client calls one endpoint. It is safe for concurrent use.
type Client struct {
	cfg   Config
	shown string
	open  chan struct{} // one for each call that waits

	turn chan struct{} // held by the one that connects

	mu     sync.Mutex
	line   *line
	closed bool
	ending sync.WaitGroup // the readers of connections
}

// New makes a client, and does not connect.
func New(cfg Config) *Client {
	cfg.Timeout, cfg.MaxAnswer, cfg.MaxOpen = cmp.Or(cfg.Timeout, defaultTimeout), cmp.Or(cfg.MaxAnswer, defaultAnswer), cmp.Or(cfg.MaxOpen, defaultOpen)
	return &Client{cfg: cfg, shown: Shown(cfg.URL), open: make(chan struct{}, cfg.MaxOpen), turn: make(chan struct{}, 1)}
}

// Shown returns the scheme and host of a URL: the user, path and query may be secret.
func Shown(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return "(no URL)"
	}
	return u.Scheme + "://" + u.Host
}

// String returns the endpoint, without secrets.
func (c *Client) String() string { return c.shown }

// Format leaves out secrets, for every verb.
func (c *Client) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(c.shown)) }

// Close ends the connection, and every call that waits. It returns when no goroutine of the client runs any more.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	l := c.line
	c.line = nil
	c.mu.Unlock()
	if l != nil {
		l.end(errClosed)
	}
	c.ending.Wait()
}

// Call makes one call and decodes its result, which may be nil. The error is an [*Error] if the endpoint answered with one.
func (c *Client) Call(ctx context.Context, result any, method string, args ...any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.Timeout, errTimeout)
	defer cancel()
	l, err := c.dial(ctx)
	if err != nil {
		return c.fail(method, err)
	}
	return c.ask(ctx, l, result, method, args...)
}

// Request is one call of several. Err is the call's own, as that of [Client.Call].
type Request struct {
	Method string
	Args   []any
	Result any
	Err    error
}

// Calls makes several calls at once, without waiting for one before the next, and fills in their results and errors. It returns the
// first error that is no answer of the endpoint.
func (c *Client) Calls(ctx context.Context, calls []Request) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.Timeout, errTimeout)
	defer cancel()
	l, err := c.dial(ctx)
	if err != nil {
		for i := range calls {
			calls[i].Err = c.fail(calls[i].Method, err)
		}
		if len(calls) == 0 {
			return nil
		}
		return calls[0].Err
	}
	waits := make([]*wait, len(calls))
	for i := range calls {
		if waits[i], err = c.begin(ctx, l, nil, calls[i].Method, calls[i].Args...); err != nil {
			calls[i].Err = err
		}
	}
	var silent error
	for i, w := range waits {
		if w != nil {
			calls[i].Err = c.finish(ctx, l, w, calls[i].Result)
		}
		if _, spoken := Answered(calls[i].Err); calls[i].Err != nil && !spoken && silent == nil {
			silent = calls[i].Err
		}
	}
	return silent
}

func (c *Client) ask(ctx context.Context, l *line, result any, method string, args ...any) error {
	w, err := c.begin(ctx, l, nil, method, args...)
	if err != nil {
		return err
	}
	return c.finish(ctx, l, w, result)
}

// begin sends a call, once few enough wait.
func (c *Client) begin(ctx context.Context, l *line, sub *Subscription, method string, args ...any) (*wait, error) {
	select {
	case c.open <- struct{}{}:
	case <-ctx.Done():
		return nil, c.fail(method, context.Cause(ctx))
	}
	w, err := l.send(sub, method, args)
	if err != nil {
		return nil, c.fail(method, err)
	}
	return w, nil
}

// finish waits for the answer of a call.
func (c *Client) finish(ctx context.Context, l *line, w *wait, result any) error {
	select {
	case <-w.done:
	case <-ctx.Done():
		l.forget(w)
		if context.Cause(ctx) == errTimeout && l.silentSince(w) { //nolint:errorlint // our own cause, of this very context
			c.drop(l, errSilent)
		}
		return c.fail(w.method, context.Cause(ctx))
	}
	if w.err != nil {
		return c.fail(w.method, w.err)
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(w.result, result); err != nil {
		return &Error{Method: w.method, By: c.shown, Message: "its answer cannot be read", Code: CodeUnread}
	}
	return nil
}

// dial returns the connection, and connects if there is none.
func (c *Client) dial(ctx context.Context) (*line, error) {
	if l, err := c.current(); l != nil || err != nil {
		return l, err
	}
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if l, err := c.current(); l != nil || err != nil {
		return l, err
	}
	conn, answer, err := websocket.Dial(ctx, c.cfg.URL, &websocket.DialOptions{HTTPHeader: c.cfg.Header, HTTPClient: client}) //nolint:bodyclose // the library has
	if err != nil {
		if answer != nil && answer.StatusCode != http.StatusSwitchingProtocols {
			err = fmt.Errorf("HTTP status %d", answer.StatusCode)
		}
		return nil, err
	}
	conn.SetReadLimit(int64(c.cfg.MaxAnswer))
	l := newLine(conn, c)
	c.ending.Go(func() {
		l.read()
		c.drop(l, l.fault())
	})
	if c.cfg.Greet != nil {
		err = c.cfg.Greet(ctx, func(ctx context.Context, result any, method string, args ...any) error {
			return c.ask(ctx, l, result, method, args...)
		})
	}
	return l, c.install(l, err)
}

// client follows no redirection, which would carry the URL's secret to another place.
var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// install makes a connection that has been greeted the client's, or ends it.
func (c *Client) install(l *line, err error) error {
	c.mu.Lock()
	if c.closed && err == nil {
		err = errClosed
	}
	if err == nil {
		c.line = l
	}
	c.mu.Unlock()
	if err != nil {
		l.end(err)
	} else if l.fault() != nil { // it was lost before it was installed
		c.drop(l, l.fault())
	}
	return err
}

func (c *Client) current() (*line, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errClosed
	}
	if c.line != nil && c.line.fault() != nil { // its calls have ended, and it is about to be dropped
		c.line = nil
	}
	return c.line, nil
}

// drop ends a connection. The next call makes another.
func (c *Client) drop(l *line, why error) {
	c.mu.Lock()
	if c.line == l {
		c.line = nil
	}
	c.mu.Unlock()
	l.end(why)
}

var (
	errClosed  = errors.New("the client is closed")
	errTimeout = errors.New("it did not answer in time")
	errSilent  = errors.New("the connection is open, and nothing comes on it")
)
