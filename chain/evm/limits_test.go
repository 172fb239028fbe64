package evm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
)

// coded is a JSON-RPC error, as go-ethereum's client returns it.
type coded struct {
	code int
	text string
	data any
}

func (e coded) Error() string  { return e.text }
func (e coded) ErrorCode() int { return e.code }
func (e coded) ErrorData() any { return e.data }

// A request that was too large is told from an answer that was, and from an attempt that is.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	for large, errs := range map[bool][]error{
		true: {
			evm.NewStatus(413),
			rpc.HTTPError{StatusCode: 413},
			fmt.Errorf("%w: send: %w", chain.ErrUnreachable, evm.NewStatus(413)),
			coded{code: -32600, text: "batch too large"},
			coded{code: -32600, text: "Exceeded maximum batch count 20"},
			coded{code: -32005, text: "Number of requests exceeds max batch size"},
			coded{code: -32005, text: "Batch size limit exceeded."},
			coded{code: -32005, text: "Batched requests are not supported by this server"},
			coded{code: -32010, text: "The batch request was too large"},
			coded{code: -32014, text: "too many RPC calls in batch request"},
			coded{code: -32000, text: "batch limit 100 exceeded: 142 requests given"},
			coded{code: -32202, text: "Batch requests are disabled"},
			coded{code: -32007, text: "Method eth_call is not permitted as part of batch requests"},
			coded{code: -32007, text: "Request is too big"},
			coded{code: -32000, text: "Payload Too Large"},
			errors.New("websocket: close 1009 (message too big)"),
			rpc.HTTPError{StatusCode: 400, Body: []byte(`{"error":{"code":-32600,"message":"batch of 500 refused"}}`)},
		},
		false: {
			nil,
			coded{code: -32003, text: "response too large"},
			coded{code: -32011, text: "The batch response was too large"},
			coded{code: -32010, text: "transaction too large"},
			coded{code: -32010, text: "Transaction is too big"},
			coded{code: -32000, text: "oversized data: transaction size 200000, limit 1"},
			coded{code: -32600, text: "invalid request"},
			coded{code: -32000, text: "nonce too low"},
			coded{code: -32005, text: "daily request count exceeded, request rate limited"},
			coded{code: -32005, text: "Transaction gas limit exceeds block gas limit"},
			coded{code: 429, text: "Too Many Requests"},
			evm.NewStatus(429),
			evm.NewStatus(400),
			evm.NewStatus(502),
			errors.New("response batch did not contain a response to this call"),
			errors.New("websocket: read limit exceeded"),
			errors.New("dial tcp 127.0.0.1:8545: connect: connection refused"),
			fmt.Errorf("%w: batch at http://127.0.0.1: EOF", chain.ErrUnreachable),
		},
	} {
		for _, err := range errs {
			if got := evm.TooLarge(err); got != large {
				t.Errorf("%v: got too large %v, want %v", err, got, large)
			}
		}
	}
}

// A limit of calls is told from a limit of the attempt.
func TestLimited(t *testing.T) {
	t.Parallel()
	infura := func(seconds any) any { return map[string]any{"rate": map[string]any{"backoff_seconds": seconds}} }
	for _, c := range []struct {
		err   error
		after time.Duration
		ok    bool
	}{
		{evm.NewStatus(429), 0, true},
		{evm.NewStatus(402), 0, true},
		{fmt.Errorf("%w: send: %w", chain.ErrUnreachable, evm.NewStatus(429)), 0, true},
		{coded{code: 429, text: "slow down"}, 0, true},
		{coded{code: -32005, text: "limit exceeded"}, 0, true},
		{coded{code: -32005, text: "project ID request rate exceeded", data: infura(30)}, 30 * time.Second, true},
		{coded{code: -32005, text: "project ID request rate exceeded", data: infura(0)}, 0, true},
		{coded{code: -32005, text: "project ID request rate exceeded", data: infura(3600)}, evm.Longest, true},
		{coded{code: -32005, text: "project ID request rate exceeded", data: infura("soon")}, 0, true},
		{coded{code: -32016, text: "over rate limit"}, 0, true},
		{errors.New("websocket: bad handshake (HTTP status 429 Too Many Requests)"), 0, true},

		{nil, 0, false},
		{evm.NewStatus(503), 0, false},
		{evm.NewStatus(502), 0, false},
		{evm.NewStatus(401), 0, false},
		{evm.NewStatus(403), 0, false},
		{evm.NewStatus(413), 0, false},
		{coded{code: -32005, text: "Number of requests exceeds max batch size"}, 0, false},
		{coded{code: -32005, text: "Transaction gas limit exceeds block gas limit"}, 0, false},
		{coded{code: -32000, text: "account limit exceeded: pooled 16 txs"}, 0, false},
		{coded{code: -32000, text: "in-flight transaction limit reached for delegated accounts"}, 0, false},
		{coded{code: -32000, text: "transaction gas limit too high"}, 0, false},
		{errors.New("context deadline exceeded"), 0, false},
	} {
		if after, ok := evm.Limited(c.err); after != c.after || ok != c.ok {
			t.Errorf("%v: got %v, %v, want %v, %v", c.err, after, ok, c.after, c.ok)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"0": 0, "7": 7 * time.Second, " 7 ": 7 * time.Second, "1.5": 1500 * time.Millisecond, "60": time.Minute,
		"61": time.Minute, "86400": time.Minute, "1e300": time.Minute,
		now.Add(5 * time.Second).Format(http.TimeFormat): 5 * time.Second,
		now.Add(-time.Hour).Format(http.TimeFormat):      0,
		now.Add(time.Hour).Format(http.TimeFormat):       time.Minute,
		now.Add(time.Second).Format(time.RFC850):         time.Second,
	} {
		if got, ok := evm.RetryAfter(header, now); got != want || !ok {
			t.Errorf("%q: got %v, %v, want %v", header, got, ok, want)
		}
	}
	for _, header := range []string{"", "-1", "soon", "NaN", "2026-09-01", "7 s"} {
		if got, ok := evm.RetryAfter(header, now); ok || got != 0 {
			t.Errorf("%q: got %v, %v, want none", header, got, ok)
		}
	}
}

// A batch that was refused as a whole may have been carried out in part, unless it was too large or
// came from a stranger.
func TestARequestThatWasRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status    int
		one, many chain.Verdict
	}{
		{413, chain.Refused, chain.Refused},
		{401, chain.Refused, chain.Refused},
		{402, chain.Refused, chain.Unknown},
		{403, chain.Refused, chain.Unknown},
		{429, chain.Refused, chain.Unknown},
		{400, chain.Unknown, chain.Unknown},
		{500, chain.Unknown, chain.Unknown},
		{502, chain.Unknown, chain.Unknown},
		{503, chain.Unknown, chain.Unknown},
		{504, chain.Unknown, chain.Unknown},
	} {
		err := fmt.Errorf("%w: send: %w", chain.ErrUnreachable, evm.NewStatus(c.status))
		for attempts, want := range map[int]chain.Verdict{1: c.one, 2: c.many} {
			if sent, rest := evm.RequestVerdicts(err, attempts); sent != want || rest != want {
				t.Errorf("HTTP %d, %d attempts: got %v, and %v for the rest, want %v", c.status, attempts, sent, rest, want)
			}
		}
	}
	for _, text := range []string{"EOF", "context deadline exceeded", "dial tcp: connection refused", "invalid character '<' looking for beginning of value"} {
		if sent, rest := evm.RequestVerdicts(errors.New(text), 1); sent != chain.Unknown || rest != chain.Unknown {
			t.Errorf("%s: got %v, and %v for the rest, want unknown", text, sent, rest)
		}
	}
}

// Submit gives the verdict of the request to all that was in it.
func TestSubmitOfARefusedRequest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		sends  int
		want   chain.Verdict
	}{
		"too large":                    {http.StatusRequestEntityTooLarge, 3, chain.Refused},
		"too many requests":            {http.StatusTooManyRequests, 3, chain.Unknown},
		"too many requests, of one":    {http.StatusTooManyRequests, 1, chain.Refused},
		"bad gateway":                  {http.StatusBadGateway, 1, chain.Unknown},
		"no key of the right endpoint": {http.StatusUnauthorized, 3, chain.Refused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := gateway(t, serve(t, healthy), func(w http.ResponseWriter, body string) bool {
				if strings.Contains(body, "eth_sendRawTransaction") {
					w.WriteHeader(c.status)
					return true
				}
				return false
			})
			driver := open(t, evm.Config{ChainID: 1337, URL: url})
			send(t, driver, make([]chain.Signed, c.sends), c.want)
		})
	}
}

// Geth answers the first call of a batch that is too large. It has carried out none of the others.
func TestABatchThatIsTooLarge(t *testing.T) {
	t.Parallel()
	asked := 0
	c := open(t, evm.Config{ChainID: 1337, URL: serve(t, func(method string, params []json.RawMessage) any {
		if method != "eth_sendRawTransaction" {
			return healthy(method, params)
		}
		if asked++; asked == 1 {
			return fault{-32600, "batch too large"}
		}
		return errNoAnswer
	})})
	send(t, c, make([]chain.Signed, 3), chain.Refused)
}
