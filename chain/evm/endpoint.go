package evm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
)

// endpoint makes requests, and errors that carry no secret. What may be secret is in
// functions, which have no fields to print.
type endpoint struct {
	url     func() string
	header  func() http.Header
	shown   string // of the URL, what may be
	timeout time.Duration
	http    *http.Client

	mu     sync.Mutex
	client *rpc.Client
}

func newEndpoint(cfg Config) *endpoint {
	return &endpoint{
		url: func() string { return cfg.URL }, header: func() http.Header { return cfg.Header },
		shown: shown(cfg.URL), timeout: cfg.Timeout,
		http: &http.Client{Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute,
		}},
	}
}

func (e *endpoint) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.client != nil {
		e.client.Close()
		e.client = nil
	}
	e.http.CloseIdleConnections()
}

// dial connects if that has to be done, so that a node that starts later is found.
func (e *endpoint) dial(ctx context.Context) (*rpc.Client, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.client != nil {
		return e.client, nil
	}
	options := []rpc.ClientOption{rpc.WithHTTPClient(e.http), rpc.WithWebsocketMessageSizeLimit(256 << 20)}
	if header := e.header(); header != nil {
		options = append(options, rpc.WithHeaders(header))
	}
	client, err := rpc.DialOptions(ctx, e.url(), options...)
	if err != nil {
		return nil, e.fail("connect", err)
	}
	e.client = client
	return client, nil
}

func (e *endpoint) call(ctx context.Context, result any, method string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	client, err := e.dial(ctx)
	if err != nil {
		return err
	}
	if err := client.CallContext(ctx, result, method, args...); err != nil {
		return e.fail(method, err)
	}
	return nil
}

// batch makes one request. Errors of single calls are in their elements.
func (e *endpoint) batch(ctx context.Context, calls []rpc.BatchElem) error {
	if len(calls) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	client, err := e.dial(ctx)
	if err != nil {
		return err
	}
	if err := client.BatchCallContext(ctx, calls); err != nil {
		return e.fail(calls[0].Method, err)
	}
	return nil
}

// fail makes an error that may be shown: an answer as it is, anything else as the
// endpoint's silence.
func (e *endpoint) fail(method string, err error) error {
	if _, _, ok := answered(err); ok {
		return fmt.Errorf("%w: %s at %s: %w", chain.ErrAnswer, method, e.shown, err)
	}
	if at, is := errors.AsType[*url.Error](err); is {
		err = at.Err // it has the URL in its text
	}
	if status, is := errors.AsType[rpc.HTTPError](err); is {
		return fmt.Errorf("%w: %s at %s: %w", chain.ErrUnreachable, method, e.shown, &statusError{status.StatusCode, status.Status})
	}
	if strings.Contains(err.Error(), e.url()) {
		err = errors.New(strings.ReplaceAll(err.Error(), e.url(), e.shown))
	}
	return fmt.Errorf("%w: %s at %s: %w", chain.ErrUnreachable, method, e.shown, err)
}

// statusError says that something at the endpoint refuses requests.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string { return "HTTP status " + e.text }

// forGood says that it refuses this one whenever it comes, and not for being busy or broken.
func (e *statusError) forGood() bool {
	switch e.code {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return e.code < http.StatusInternalServerError || e.code == http.StatusNotImplemented
}

// answered tells the words of a node from everything that is no answer.
func answered(err error) (code int, text string, ok bool) {
	answer, is := errors.AsType[rpc.Error](err)
	if !is {
		return 0, "", false
	}
	return answer.ErrorCode(), answer.Error(), true
}
