package webhook_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

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
		guarded := webhook.Guard(bare, func(write func(context.Context) error) error {
			if now != nil {
				return now
			}
			return write(t.Context())
		})
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

// S15: what outlives an answer of the gate is cut off, and goes on where it was while the gate says so again; then nothing leaves. A deadline of the
// connection's owner counts before, meanwhile and after.
func TestAWriteGoesOnWhereItWasCut(t *testing.T) {
	t.Parallel()
	here, there := net.Pipe()
	defer func() { _ = there.Close() }()
	shut := errors.New("shut")
	answers := make(chan context.Context)
	guarded := webhook.Guard(&http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return here, nil }},
		func(write func(context.Context) error) error {
			answer := <-answers
			if answer == nil {
				return shut
			}
			return write(answer)
		})
	c, err := guarded.DialContext(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	_ = there.SetReadDeadline(time.Now().Add(time.Minute))
	reads := func(n int) string {
		b := make([]byte, n)
		if _, err := io.ReadFull(there, b); err != nil {
			t.Error(err)
		}
		return string(b)
	}
	type wrote struct {
		n   int
		err error
	}
	writes := func(text string) func() wrote {
		ended := make(chan wrote, 1)
		go func() {
			n, err := c.Write([]byte(text))
			ended <- wrote{n, err}
		}()
		return func() (w wrote) {
			t.Helper()
			select {
			case w = <-ended:
			case <-time.After(time.Minute):
				t.Fatal("the write does not end")
			}
			return w
		}
	}
	says := func(answer context.Context) { // once the gate is asked
		t.Helper()
		select {
		case answers <- answer:
		case <-time.After(time.Minute):
			t.Fatal("the gate is not asked")
		}
	}
	first, cut := context.WithCancel(t.Context())
	ended := writes("abcdef")
	says(first)
	got := reads(2)
	cut()
	says(t.Context())
	if got += reads(4); got != "abcdef" {
		t.Errorf("%q came, want abcdef", got)
	}
	if w := ended(); w.n != 6 || w.err != nil {
		t.Errorf("got %+v, want all of it", w)
	}
	second, cut := context.WithCancel(t.Context())
	ended = writes("abcdef")
	says(second)
	got = reads(2)
	cut()
	says(nil)
	if w := ended(); w.n != 2 || !errors.Is(w.err, shut) {
		t.Errorf("got %+v after %q, want that the gate is shut after 2 bytes", w, got)
	}
	_ = c.SetDeadline(time.Unix(1, 0))
	ended = writes("abcdef")
	says(t.Context())
	if w := ended(); w.n != 0 || !errors.Is(w.err, os.ErrDeadlineExceeded) {
		t.Errorf("got %+v, want that the owner's deadline has passed", w)
	}
}
