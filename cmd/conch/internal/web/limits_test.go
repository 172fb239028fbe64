package web_test

import (
	"bufio"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
	"github.com/conchhq/conch/election"
)

// listenTo opens an event stream and reads its first line.
func listenTo(t *testing.T, c *http.Client, secret string) *stream {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://conch/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+secret)
	res, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	s := &stream{t: t, lines: bufio.NewScanner(res.Body)}
	if got := s.line(); got != "retry: 2000" {
		t.Fatalf("the stream begins with %q, want retry: 2000", got)
	}
	return s
}

// A stream that was silent for minutes still delivers an event.
func TestASilentStream(t *testing.T) {
	t.Parallel()
	webtest.OverBoth(t, worldAndSite, func(t *testing.T, w *world, c *http.Client) {
		s := listenTo(t, c, "")
		for range 20 { // for five minutes
			if got := s.line(); got != ": alive" {
				t.Fatalf("the silent stream has %q, %v; want : alive", got, s.lines.Err())
			}
		}
		w.add(1, "payments", "acquired")
		s.expect("1:acquired")
	})
}

// The end of a stream has the same deadline as its pieces, for a client that reads nothing.
func TestTheEndOfAStreamThatNobodyReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, p := newWorld(), webtest.NewPipes()
		file := webtest.TokenFile(t, "read", webtest.ReadSecret)
		tokens, err := web.LoadTokens(file, "")
		if err != nil {
			t.Fatal(err)
		}
		w.cfg.Tokens = tokens
		stop := webtest.Serve(t, w.site(t), p)
		s := listenTo(t, webtest.Client(t, &http.Transport{DialTLSContext: p.Dial}), webtest.ReadSecret)
		if got := s.line(); got != ": alive" {
			t.Fatalf("the silent stream has %q, want : alive", got)
		}
		if err := os.WriteFile(file, []byte("other-0123456789abcdef-0123"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := tokens.Reload(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := stop(); err != nil {
			t.Errorf("the server ended with %v, want no error: the stream has ended", err)
		}
	})
}

// A drain is answered even if it takes minutes.
func TestALongDrain(t *testing.T) {
	t.Parallel()
	webtest.OverBoth(t, worldAndSite, func(t *testing.T, w *world, c *http.Client) {
		w.step = func(election.StepDown) error { webtest.Pass(t, 5*time.Minute); return nil }
		if status, text, err := webtest.Call(t, c, http.MethodPost, "/v1/scopes/payments/drain", nil); status != http.StatusOK || err != nil {
			t.Errorf("status %d, body %s, error %v; want 200", status, text, err)
		}
	})
}
