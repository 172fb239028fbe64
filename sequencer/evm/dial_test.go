package evm

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// The next endpoint is asked if one does not answer, and the one that answered is asked first from then on. No error
// shows a URL's secret.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	answers := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		var call struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		_ = json.NewDecoder(r.Body).Decode(&call)
		w.Header().Set("Content-Type", "application/json")
		if call.Method == "eth_refuse" {
			_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":` + string(call.ID) + `,"error":{"code":-32000,"message":"no such state"}}`))
			return
		}
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":` + string(call.ID) + `,"result":"0x7"}`))
	}))
	defer answers.Close()
	fails := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "secret-key", http.StatusBadGateway) }))
	defer fails.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	e, err := Dial([]string{"http://127.0.0.1:1/secret-key", fails.URL + "/secret-key", answers.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for range 3 {
		var got string
		if err := e.CallContext(ctx, &got, "eth_chainId"); err != nil || got != "0x7" {
			t.Fatalf("got %q, error %v", got, err)
		}
	}
	if e.current.Load() != 2 {
		t.Errorf("endpoint %d is asked first, want the one that answers", e.current.Load())
	}
	before := asked.Load()
	if err := e.CallContext(ctx, nil, "eth_refuse"); err == nil || !strings.Contains(err.Error(), "no such state") || asked.Load() != before+1 {
		t.Errorf("a refusal: got error %v after %d calls, want it from one call", err, asked.Load()-before)
	}
	if e.Turn(); e.current.Load() != 0 {
		t.Errorf("endpoint %d is asked first after the last one's turn, want the first one", e.current.Load())
	}
	away, err := Dial([]string{"http://127.0.0.1:1/secret-key", fails.URL + "/secret-key"})
	if err != nil {
		t.Fatal(err)
	}
	defer away.Close()
	if err := away.CallContext(ctx, nil, "eth_chainId"); err == nil || strings.Contains(err.Error(), "secret-key") || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("both away: got error %v, want both hosts and no secret", err)
	}
	for _, urls := range [][]string{nil, {"secret-key"}, {"http://secret-key:x%zz"}} {
		if _, err := Dial(urls); err == nil || strings.Contains(err.Error(), "secret-key") {
			t.Errorf("%d bad URLs: got error %v, want one without the secret", len(urls), err)
		}
	}
}
