package evm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm/internal/budget"
	"github.com/conchhq/conch/internal/expiry"
)

// endpoint makes requests, and errors without secrets. No print shows a secret in a function.
type endpoint struct {
	url     func() string
	header  func() http.Header
	shown   string // scheme and host of the URL
	timeout time.Duration
	most    int // bytes of an answer
	http    *http.Client
	lines   connections
	listens func() time.Duration // the patience with a line; see line.patience
	silence func()               // is told that a line was given up
	budget  *budget.Budget
}

func newEndpoint(cfg Config) *endpoint {
	return &endpoint{
		lines: connections{turn: make(chan struct{}, 1)}, budget: budget.New(cfg.MaxCallsPerSecond, cfg.Costs, limited),
		url: func() string { return cfg.URL }, header: func() http.Header { return cfg.Header },
		shown: shown(cfg.URL), timeout: cfg.Timeout, most: cfg.MaxAnswer,
		http: &http.Client{CheckRedirect: stays, Transport: noter{cfg.MaxAnswer, &expiry.Transport{Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute,
		}}}},
	}
}

func (e *endpoint) close() {
	e.lines.close()
	e.budget.Close()
	e.http.CloseIdleConnections()
}

// dial returns the connection, and connects if there is none.
func (e *endpoint) dial(ctx context.Context) (*line, error) {
	if l := e.lines.current(); l != nil {
		return l, nil
	}
	if err := e.lines.lock(ctx); err != nil {
		return nil, e.fail("connect", err)
	}
	defer e.lines.unlock()
	if l := e.lines.current(); l != nil {
		return l, nil
	}
	options := []rpc.ClientOption{rpc.WithHTTPClient(e.http), rpc.WithWebsocketMessageSizeLimit(int64(e.most))}
	if header := e.header(); header != nil {
		options = append(options, rpc.WithHeaders(header))
	}
	client, err := rpc.DialOptions(ctx, e.url(), options...)
	if err != nil {
		return nil, e.fail("connect", err)
	}
	l := &line{client: client}
	if strings.HasPrefix(e.shown, "ws") {
		l.patience = e.listens
		l.giveUp = func(l *line) {
			if e.lines.giveUp(l) {
				e.silence()
			}
		}
	}
	e.lines.replace(l)
	return l, nil
}

func (e *endpoint) call(ctx context.Context, result any, method string, args ...any) error {
	one := []rpc.BatchElem{{Method: method, Args: args, Result: result}}
	if err := e.batch(ctx, one); err != nil || one[0].Error == nil {
		return err
	}
	return e.fail(method, one[0].Error)
}

// batch makes one request, once the endpoint's allowance has room for it. The errors of single calls are in
// their elements. One call alone is no batch: some endpoints take none.
func (e *endpoint) batch(ctx context.Context, calls []rpc.BatchElem) error {
	if len(calls) == 0 {
		return nil
	}
	if err := e.budget.WaitFor(ctx, e.budget.SumCosts(calls)); err != nil {
		return e.fail(calls[0].Method, err)
	}
	return e.exchange(ctx, calls)
}

// exchange is batch for a caller that has waited.
func (e *endpoint) exchange(ctx context.Context, calls []rpc.BatchElem) error {
	err := e.request(ctx, calls)
	e.budget.NoteAnswers(err, calls)
	return err
}

func (e *endpoint) request(ctx context.Context, calls []rpc.BatchElem) error {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	l, err := e.dial(ctx)
	if err != nil {
		return err
	}
	ctx, said := noting(ctx)
	l.begin()
	if len(calls) == 1 {
		err = l.end(l.client.CallContext(ctx, calls[0].Result, calls[0].Method, calls[0].Args...))
		calls[0].Error = err
		if _, _, spoken := answered(err); spoken || err == nil {
			return nil
		}
	} else {
		err = l.end(l.client.BatchCallContext(ctx, calls))
	}
	if err != nil {
		return said.explain(e.fail(calls[0].Method, err), e.secrets())
	}
	return nil
}

// fail makes an error without secrets, which wraps ErrAnswer or ErrUnreachable.
func (e *endpoint) fail(method string, err error) error {
	if _, _, ok := answered(err); ok {
		return fmt.Errorf("%w: %s at %s: %w", chain.ErrAnswer, method, e.shown, err)
	}
	if strings.Contains(err.Error(), "read limit exceeded") { // of a WebSocket; it ends the connection
		err = &sizeError{e.most}
	}
	if _, large := errors.AsType[*sizeError](err); large {
		return fmt.Errorf("%w: %s at %s: %w", chain.ErrAnswer, method, e.shown, err)
	}
	if at, is := errors.AsType[*url.Error](err); is {
		err = at.Err // the text of at has the URL
	}
	if status, is := errors.AsType[rpc.HTTPError](err); is {
		return fmt.Errorf("%w: %s at %s: %w", chain.ErrUnreachable, method, e.shown, &statusError{status.StatusCode, status.Status})
	}
	if strings.Contains(err.Error(), e.url()) {
		err = errors.New(strings.ReplaceAll(err.Error(), e.url(), e.shown))
	}
	return fmt.Errorf("%w: %s at %s: %w", chain.ErrUnreachable, method, e.shown, err)
}

// statusError is an HTTP status that refuses a request.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string { return "HTTP status " + e.text }

// forGood reports whether a retry gets the same status: the server is not busy or broken.
func (e *statusError) forGood() bool {
	switch e.code {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return e.code < http.StatusInternalServerError || e.code == http.StatusNotImplemented
}

// answered returns the code and text of a node's answer, or false if err is no answer.
func answered(err error) (code int, text string, ok bool) {
	answer, is := errors.AsType[rpc.Error](err)
	if !is {
		return 0, "", false
	}
	return answer.ErrorCode(), answer.Error(), true
}
