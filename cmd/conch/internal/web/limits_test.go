package web_test

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web"
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
		t.Fatalf("the stream begins with %q", got)
	}
	return s
}

// A stream may be silent for as long as nothing happens; what happens then arrives.
func TestASilentStream(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world, c *http.Client) {
		s := listenTo(t, c, "")
		for range 20 { // five minutes of them
			if got := s.line(); got != ": alive" {
				t.Fatalf("in the silence: %q, %v", got, s.lines.Err())
			}
		}
		w.add(1, "payments", "acquired")
		s.expect("1:acquired")
	})
}

// The end of a stream is written to whoever takes nothing for no longer than all before.
func TestTheEndOfAStreamThatNobodyReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, p := newWorld(), newPipes()
		file := tokenFile(t, "read", readSecret)
		tokens, err := web.LoadTokens(file, "")
		if err != nil {
			t.Fatal(err)
		}
		w.cfg.Tokens = tokens
		stop := serve(t, w.site(t), p)
		s := listenTo(t, client(t, &http.Transport{DialTLSContext: p.dial}), readSecret)
		if got := s.line(); got != ": alive" {
			t.Fatalf("in the silence: %q", got)
		}
		if err := os.WriteFile(file, []byte("other-0123456789abcdef-0123"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := tokens.Reload(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := stop(); err != nil {
			t.Errorf("it is still being written: %v", err)
		}
	})
}

// drip gives a byte now and then, for longer than a server would wait for all of them.
type drip struct {
	left int
	tick *time.Ticker
}

func (d *drip) Read(to []byte) (int, error) {
	if d.left == 0 {
		return 0, io.EOF
	}
	<-d.tick.C
	d.left--
	to[0] = 'x'
	return 1, nil
}

// An upload may take as long as it goes on, and what it is written to may take its time,
// before it and between its parts.
func TestALongUpload(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world, c *http.Client) {
		tick := time.NewTicker(10 * time.Second)
		defer tick.Stop()
		w.files.busy = func() { pass(t, 20*time.Second) }
		status, text, err := call(t, c, http.MethodPut, "/v1/files/data/x", &drip{left: 12, tick: tick})
		if status != http.StatusOK || err != nil || w.files.wrote != strings.Repeat("x", 12) {
			t.Errorf("%d %s, %v; stored %q", status, text, err, w.files.wrote)
		}
	})
}

// An upload that goes on no more is ended: nobody can tie up a server for ever.
func TestAStalledUpload(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world, c *http.Client) {
		began, gone := io.Pipe()
		defer func() { _ = gone.Close() }()
		go func() { _, _ = gone.Write([]byte("x")) }()
		if status, text, err := call(t, c, http.MethodPut, "/v1/files/data/x", began); status == http.StatusOK {
			t.Errorf("%d %s, %v; stored %q", status, text, err, w.files.wrote)
		}
	})
}

// A drain is answered after as long as it was allowed to take.
func TestALongDrain(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world, c *http.Client) {
		w.step = func(election.StepDown) error { pass(t, 5*time.Minute); return nil }
		if status, text, err := call(t, c, http.MethodPost, "/v1/scopes/payments/drain", nil); status != http.StatusOK || err != nil {
			t.Errorf("%d %s, %v", status, text, err)
		}
	})
}

// A download may take as long as it goes on.
func TestALongDownload(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world, c *http.Client) {
		const size = 16 << 20 // more than the buffers on the way can take
		w.files.large = strings.NewReader(strings.Repeat("x", size))
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://conch/v1/files/data/a/c", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		part, got := make([]byte, 64<<10), 0
		for {
			n, err := io.ReadFull(res.Body, part)
			got += n
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("after %d bytes: %v", got, err)
			}
			time.Sleep(10 * time.Second)
		}
		if got != size {
			t.Errorf("%d bytes", got)
		}
	})
}
