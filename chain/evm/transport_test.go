package evm_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
)

// gateway is a proxy in front of a node, which may answer for it.
func gateway(t testing.TB, backend string, answer func(w http.ResponseWriter, body string) bool) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if answer(w, string(body)) {
			return
		}
		forwarded, err := http.Post(backend, "application/json", strings.NewReader(string(body)))
		if err != nil {
			return
		}
		_, _ = io.Copy(w, forwarded.Body)
		_ = forwarded.Body.Close()
	}))
	t.Cleanup(s.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return s.URL
}

// response is what a gateway answers to a request.
type response struct {
	status int
	wait   string // the header Retry-After
	body   string
}

// ask makes a request of some calls over go-ethereum's client, and returns its error with its note.
func ask(t *testing.T, r response, calls int, secrets ...string) error {
	t.Helper()
	url := gateway(t, "", func(w http.ResponseWriter, _ string) bool {
		if r.wait != "" {
			w.Header().Set("Retry-After", r.wait)
		}
		w.WriteHeader(r.status)
		fmt.Fprint(w, r.body)
		return true
	})
	transport := new(http.Transport)
	client, err := rpc.DialOptions(t.Context(), url, rpc.WithHTTPClient(&http.Client{Transport: evm.Noter(transport)}))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	defer transport.CloseIdleConnections()
	ctx, explain := evm.Noting(t.Context())
	batch := make([]rpc.BatchElem, calls)
	for i := range batch {
		batch[i] = rpc.BatchElem{Method: "eth_sendRawTransaction", Result: new(string)}
	}
	err = client.BatchCallContext(ctx, batch)
	if n := evm.Kept(ctx); n > evm.KeptBody {
		t.Errorf("%d bytes of the body are kept, want %d at most", n, evm.KeptBody)
	}
	return explain(err, secrets...)
}

// What go-ethereum's client drops is noted: how long to wait, and what the body says.
func TestNotes(t *testing.T) {
	t.Parallel()
	const infura = `{"jsonrpc":"2.0","id":3419,"error":{"code":-32005,"message":"project ID request rate exceeded","data":{"rate":{"allowed_rps":50,"backoff_seconds":4,"current_rps":52.3}}}}`
	for name, c := range map[string]struct {
		response
		calls   int
		large   bool
		limited bool
		after   time.Duration
		verdict chain.Verdict
		says    string
	}{
		"429, seconds":             {response{429, "7", ""}, 1, false, true, 7 * time.Second, chain.Refused, "429"},
		"429, too long":            {response{429, "600", ""}, 1, false, true, time.Minute, chain.Refused, "429"},
		"429, without a word":      {response{429, "", ""}, 2, false, true, 0, chain.Unknown, "429"},
		"429, of Infura":           {response{429, "", infura}, 2, false, true, 4 * time.Second, chain.Unknown, "request rate exceeded"},
		"the header comes first":   {response{429, "9", infura}, 2, false, true, 9 * time.Second, chain.Unknown, "request rate exceeded"},
		"an object, of Infura":     {response{200, "", infura}, 2, false, true, 4 * time.Second, chain.Unknown, "request rate exceeded"},
		"429, for the size":        {response{429, "7", "batch size too large"}, 500, true, false, 0, chain.Refused, "batch size"},
		"a text, too large":        {response{200, "", "Request Entity Too Large"}, 500, true, false, 0, chain.Refused, "Too Large"},
		"503, to wait":             {response{503, "3", "busy"}, 1, false, true, 3 * time.Second, chain.Refused, "busy"},
		"503, not to wait":         {response{503, "", "busy"}, 1, false, false, 0, chain.Unknown, "busy"},
		"402":                      {response{402, "", `{"error":{"code":402,"message":"Payment Required"}}`}, 1, false, true, 0, chain.Refused, "Payment Required"},
		"403, for the quota":       {response{403, "", `{"error":{"code":-32000,"message":"Monthly capacity limit exceeded."}}`}, 1, false, true, 0, chain.Refused, "capacity"},
		"403, for good":            {response{403, "", `{"error":{"code":-32601,"message":"rpc method is not whitelisted"}}`}, 1, false, false, 0, chain.Refused, "whitelisted"},
		"413, a page":              {response{413, "", "<html><title>413</title></html>"}, 500, true, false, 0, chain.Refused, "a page"},
		"400, too large, a text":   {response{400, "", "batch size too large"}, 500, true, false, 0, chain.Refused, "batch size too large"},
		"400, too large":           {response{400, "", `{"id":null,"error":{"code":-32600,"message":"batch is too long"}}`}, 500, true, false, 0, chain.Refused, "too long"},
		"an object, too large":     {response{200, "", `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"batch limit 100 exceeded: 142 requests given"}}`}, 142, true, false, 0, chain.Refused, "batch limit"},
		"an object, no such words": {response{200, "", `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"oops"}}`}, 2, false, false, 0, chain.Unknown, "oops"},
		"a page":                   {response{200, "", "  <!doctype html><p>Sign in</p>"}, 1, false, false, 0, chain.Unknown, "a page"},
		"a bad gateway":            {response{502, "", "<html>"}, 1, false, false, 0, chain.Unknown, "502"},
		"an answer under 400":      {response{400, "", `{"id":1,"error":{"code":-32000,"message":"nonce too low"}}`}, 1, false, false, 0, chain.IndexTooLow, "nonce too low"},
		"a batch of one under 400": {response{400, "", `[{"id":1,"error":{"code":-32000,"message":"already known"}}]`}, 1, false, false, 0, chain.Known, "already known"},
		"one answer under 400":     {response{400, "", `{"id":1,"error":{"code":-32000,"message":"nonce too low"}}`}, 2, false, false, 0, chain.Unknown, "nonce too low"},
		"an answer of a batch":     {response{200, "", infura[:40]}, 2, false, false, 0, chain.Unknown, "EOF"},
		"a long page":              {response{500, "", strings.Repeat("no ", evm.KeptBody)}, 1, false, false, 0, chain.Unknown, "500"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := ask(t, c.response, c.calls)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("got error %v, want it to say %q", err, c.says)
			}
			if got := evm.TooLarge(err); got != c.large {
				t.Errorf("%v: got too large %v, want %v", err, got, c.large)
			}
			if after, ok := evm.Limited(err); after != c.after || ok != c.limited {
				t.Errorf("%v: got %v, limited %v, want %v, %v", err, after, ok, c.after, c.limited)
			}
			sent, rest := evm.RequestVerdicts(err, c.calls)
			if sent != c.verdict {
				t.Errorf("%v: got %v, want %v", err, sent, c.verdict)
			}
			if rest != chain.Unknown && rest != chain.Refused { // an answer says nothing of what was not sent
				t.Errorf("%v: got %v for the rest, want unknown or refused", err, rest)
			}
		})
	}
}

// An error with a note is still the error that it was, and the note adds no secret to it.
func TestANoteKeepsTheError(t *testing.T) {
	t.Parallel()
	err := ask(t, response{401, "", `{"error":{"code":-32000,"message":"no project hunter at https://rpc.example/v2/q1w2e3r4t5y6u7i8"}}`}, 1, "hunter")
	status, is := errors.AsType[rpc.HTTPError](err)
	if !is || status.StatusCode != http.StatusUnauthorized {
		t.Fatalf("got %v, want the HTTP error of go-ethereum's client in it", err)
	}
	if said := strings.TrimPrefix(err.Error(), status.Error()); said != ": no project <key> at <url>" {
		t.Errorf("got %q after the client's own text, want the text without secrets", said)
	}
}

// Without a note, and without a response, nothing is noted.
func TestNoNote(t *testing.T) {
	t.Parallel()
	backend := httptest.NewServer(http.NotFoundHandler())
	transport := evm.Noter(new(http.Transport))
	client := &http.Client{Transport: transport}
	defer client.CloseIdleConnections()
	get := func(ctx context.Context) (*http.Response, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, backend.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		return client.Do(request)
	}
	response, err := get(t.Context())
	if err != nil || response.StatusCode != http.StatusNotFound {
		t.Fatalf("got %v, %v, want the response as it is", response, err)
	}
	_ = response.Body.Close()
	ctx, explain := evm.Noting(t.Context())
	if response, err = get(ctx); err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if explain(nil) != nil {
		t.Error("a request without an error got one")
	}
	backend.Close()
	ctx, explain = evm.Noting(t.Context())
	if _, err := get(ctx); err == nil || explain(err) != err { //nolint:errorlint,bodyclose // the very same error; there is no response
		t.Errorf("without a response: got %v, want the error alone", explain(err))
	}
}

// closer is a transport that counts.
type closer struct {
	http.RoundTripper
	closed int
}

func (c *closer) CloseIdleConnections() { c.closed++ }

// The endpoint closes its connections through the client, which asks its transport.
func TestANoterClosesConnections(t *testing.T) {
	t.Parallel()
	c := new(closer)
	(&http.Client{Transport: evm.Noter(c)}).CloseIdleConnections()
	if c.closed != 1 {
		t.Errorf("the transport was asked %d times to close its connections, want once", c.closed)
	}
}
