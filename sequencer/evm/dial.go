package evm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/rpc"
)

// Endpoints are a Node of one or several endpoints of a chain. A call goes to the one that answered last, and to the
// next one if that does not answer, or after Turn. Safe for concurrent use.
type Endpoints struct {
	all     []*endpoint
	current atomic.Int64 // the one that answered last
}

var _ Node = (*Endpoints)(nil)

type endpoint struct {
	name string // scheme and host, which are no secret
	url  string

	mu   sync.Mutex
	line *rpc.Client // nil until the first call
}

// patience limits one call of one endpoint.
const patience = 10 * time.Second

// Dial returns the endpoints with these URLs, and does not connect yet.
func Dial(urls []string) (*Endpoints, error) {
	if len(urls) == 0 {
		return nil, errors.New("no endpoint of the chain is given")
	}
	e := &Endpoints{}
	for i, text := range urls {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" {
			return nil, fmt.Errorf("endpoint %d has no URL such as http://127.0.0.1:8545", i+1) // err quotes it, with its secrets
		}
		e.all = append(e.all, &endpoint{name: u.Scheme + "://" + u.Host, url: text})
	}
	return e, nil
}

// CallContext implements Node.
func (e *Endpoints) CallContext(ctx context.Context, result any, method string, args ...any) error {
	return e.each(ctx, func(ctx context.Context, line *rpc.Client) error {
		return line.CallContext(ctx, result, method, args...)
	})
}

// BatchCallContext implements Node.
func (e *Endpoints) BatchCallContext(ctx context.Context, batch []rpc.BatchElem) error {
	return e.each(ctx, func(ctx context.Context, line *rpc.Client) error { return line.BatchCallContext(ctx, batch) })
}

// each asks one endpoint after the other until one answers. A refusal of the call itself is an answer.
func (e *Endpoints) each(ctx context.Context, ask func(context.Context, *rpc.Client) error) error {
	var faults []error
	first := int(e.current.Load())
	for i := range e.all {
		at := (first + i) % len(e.all)
		one := e.all[at]
		err := one.ask(ctx, ask)
		if answer := rpc.Error(nil); err == nil || errors.As(err, &answer) {
			e.current.Store(int64(at))
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		faults = append(faults, fmt.Errorf("%s: %w", one.name, plain(err)))
	}
	return errors.Join(faults...)
}

// Turn has the next endpoint asked first: the one that answers now is behind the others, or contradicts them.
func (e *Endpoints) Turn() {
	at := e.current.Load()
	e.current.CompareAndSwap(at, (at+1)%int64(len(e.all)))
}

func (o *endpoint) ask(ctx context.Context, ask func(context.Context, *rpc.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	line, err := o.connect(ctx)
	if err != nil {
		return err
	}
	err = ask(ctx, line)
	if errors.Is(err, rpc.ErrClientQuit) { // a socket that was closed
		o.drop(line)
	}
	return err
}

func (o *endpoint) connect(ctx context.Context) (*rpc.Client, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.line == nil {
		line, err := rpc.DialContext(ctx, o.url)
		if err != nil {
			return nil, err
		}
		o.line = line
	}
	return o.line, nil
}

func (o *endpoint) drop(line *rpc.Client) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.line == line {
		o.line = nil
	}
}

// Close closes the connections.
func (e *Endpoints) Close() {
	for _, o := range e.all {
		o.mu.Lock()
		if o.line != nil {
			o.line.Close()
		}
		o.line = nil
		o.mu.Unlock()
	}
}

// plain returns an error without the URL, which may have a secret.
func plain(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		return cmp.Or(u.Err, errors.New("it cannot be reached"))
	}
	if h := (rpc.HTTPError{}); errors.As(err, &h) {
		return fmt.Errorf("it answers %s", h.Status)
	}
	return err
}
