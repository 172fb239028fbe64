package evm_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/chain/evm/internal/providertest"
)

// An endpoint that is of no use is named in the error, soon, and a chain beside it goes on.
func TestBadEndpoints(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		providertest.Transport
	}{
		{"a page", providertest.Page(200, "<html><body>Welcome</body></html>")},
		{"a page with a status", providertest.Page(502, "<html><body>Bad Gateway</body></html>")},
		{"an error with the id null", providertest.ErrorUnder(200, -32603, "internal error")},
		{"an error under a status", providertest.ErrorUnder(503, -32000, "no healthy backend")},
		{"half an answer", providertest.Half()},
		{"nothing", providertest.Page(200, "")},
		{"silence", providertest.Silent()},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			upstream := providertest.NodeAt(t, serve(t, healthy))
			p := providertest.Start(t, upstream, providertest.Profile{Install: func(p *providertest.Provider) { p.Carries(c.Transport) }})
			bad := open(t, endpointAt(p.HTTP(), 200*time.Millisecond))
			good := open(t, endpointAt(upstream.HTTP, 0))
			failed := make(chan error, 1)
			go func() {
				_, err := bad.Describe(t.Context())
				failed <- err
			}()
			if _, err := good.Describe(t.Context()); err != nil {
				t.Errorf("the chain beside it: got %v, want none", err)
			}
			err := <-failed
			if err == nil || !strings.Contains(err.Error(), p.Host()) || !errors.Is(err, chain.ErrUnreachable) && !errors.Is(err, chain.ErrAnswer) {
				t.Errorf("got the error %v, want one of the endpoint that names %s", err, p.Host())
			}
			outcome := bad.Submit(t.Context(), []chain.Signed{{Hash: "h", Bytes: []byte{1}}})[0]
			if outcome.Verdict != chain.Unknown || !strings.Contains(outcome.Text, p.Host()) {
				t.Errorf("got the verdict %v, want unknown and a text that names %s", outcome, p.Host())
			}
		})
	}
}

// The answers to a batch may come in any order, and twice.
func TestAnswersOutOfOrder(t *testing.T) {
	t.Parallel()
	for name, transport := range map[string]providertest.Transport{"shuffled": providertest.Shuffled(), "doubled": providertest.Doubled()} {
		p := providertest.Start(t, providertest.NodeAt(t, serve(t, healthy)), providertest.Profile{Install: func(p *providertest.Provider) { p.Carries(transport) }})
		c := open(t, endpointAt(p.HTTP(), 0))
		for range 20 {
			if d, err := c.Describe(t.Context()); err != nil || d.BlockGas != 30_000_000 {
				t.Errorf("%s: got %+v and the error %v, want 30000000 gas", name, d, err)
			}
		}
		if p.Strikes() == 0 {
			t.Errorf("%s: no answer was changed", name)
		}
	}
}

// An answer without an end is not read to the end: it would fill the memory. Nor is a long one asked for again.
func TestEndlessAnswer(t *testing.T) {
	t.Parallel()
	const most = 1 << 20
	var sent atomic.Int64
	t.Cleanup(func() { // after the tests below
		const buffers = 16 << 20 // of the two sockets
		if n := sent.Load(); n == 0 || n > most+buffers {
			t.Errorf("%d bytes of one answer were taken, want about %d", n, most)
		}
	})
	endless := providertest.Endless(32*most, func(total int) { sent.Store(int64(total)) })
	for name, c := range map[string]struct {
		providertest.Transport
		socket bool
	}{
		"over HTTP":        {endless, false},
		"over a WebSocket": {providertest.Page(200, strings.Repeat(" ", 2*most)), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := providertest.Start(t, providertest.NodeAt(t, serve(t, healthy)), providertest.Profile{Install: func(p *providertest.Provider) { p.Carries(c.Transport) }})
			cfg := endpointAt(p.HTTP(), time.Minute)
			if c.socket {
				cfg.URL = p.WS()
			}
			cfg.MaxAnswer = most
			one := open(t, cfg)
			_, err := one.Describe(t.Context())
			if err == nil || !strings.Contains(err.Error(), p.Host()) || !strings.Contains(err.Error(), "too large: more than 1 MiB") || !errors.Is(err, chain.ErrAnswer) {
				t.Errorf("got the error %v, want that an answer of %s is too large", err, p.Host())
			}
			if n := p.Requests(); n > 2 {
				t.Errorf("it was asked %d times, want two at most: of two calls, and of one", n)
			}
			outcome := one.Submit(t.Context(), []chain.Signed{{Hash: "h", Bytes: []byte{1}}})[0]
			if outcome.Verdict != chain.Unknown || !strings.Contains(outcome.Text, p.Host()) {
				t.Errorf("got the verdict %v, want unknown and a text that names %s", outcome, p.Host())
			}
		})
	}
}

// An answer that comes in drops without an end is over with the time of a request.
func TestEndlessDrops(t *testing.T) {
	t.Parallel()
	drops := providertest.Trickle(1<<20, 5*time.Millisecond)
	p := providertest.Start(t, providertest.NodeAt(t, serve(t, healthy)), providertest.Profile{Install: func(p *providertest.Provider) {
		p.Carries(drops, providertest.Page(200, strings.Repeat(" ", 1<<20)))
	}})
	_, err := open(t, endpointAt(p.HTTP(), 200*time.Millisecond)).Describe(t.Context())
	if !errors.Is(err, chain.ErrUnreachable) || !strings.Contains(err.Error(), p.Host()) {
		t.Errorf("got the error %v, want that %s does not answer", err, p.Host())
	}
}

func endpointAt(url string, timeout time.Duration) evm.Config {
	return evm.Config{URL: url, ChainID: 1337, Timeout: timeout}
}
