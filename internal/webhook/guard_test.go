package webhook_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/webhook"
)

// S16: a connection asks before each write, also one that has served before, and one that a caller has opened in his own way.
func TestNothingIsSentThatMayNot(t *testing.T) {
	t.Parallel()
	pipe := func(came chan<- string) func(context.Context, string, string) (net.Conn, error) {
		return func(context.Context, string, string) (net.Conn, error) {
			here, there := net.Pipe()
			go func() {
				for b := make([]byte, 1000); ; {
					n, err := there.Read(b)
					if came <- string(b[:n]); err != nil {
						return
					}
					_, _ = there.Write([]byte("HTTP/1.1 204 No Content\r\n\r\n"))
				}
			}()
			return here, nil
		}
	}
	for scheme, with := range map[string]func(*http.Transport, chan<- string){
		"http":  func(t *http.Transport, came chan<- string) { t.DialContext = pipe(came) },
		"https": func(t *http.Transport, came chan<- string) { t.DialTLSContext = pipe(came) },
	} {
		came, shut := make(chan string, 10), errors.New("shut")
		var now error
		bare := &http.Transport{}
		with(bare, came)
		guarded := webhook.Guard(bare, func() error { return now })
		ask := func() error {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, scheme+"://a/", strings.NewReader("{}"))
			if err != nil {
				return err
			}
			res, err := guarded.RoundTrip(req)
			if err == nil {
				_ = res.Body.Close()
			}
			return err
		}
		if err := ask(); err != nil || !strings.HasPrefix(<-came, "POST") {
			t.Errorf("%s: got %v of an open gate, and not the request", scheme, err)
		}
		now = shut
		if err := ask(); !errors.Is(err, shut) {
			t.Errorf("%s: got %v, want that the gate is shut", scheme, err)
		}
		guarded.CloseIdleConnections()
		if got := <-came; got != "" {
			t.Errorf("%s: %q was sent behind a shut gate", scheme, got)
		}
	}
}
