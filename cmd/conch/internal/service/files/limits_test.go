package files

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
)

// drip returns a byte at each tick, for longer than a server would wait for a body.
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

// An upload may take any time while it makes progress, and the disk may be slow.
func TestALongUpload(t *testing.T) {
	t.Parallel()
	webtest.OverBoth(t, worldAndSite, func(t *testing.T, w *world, c *http.Client) {
		tick := time.NewTicker(10 * time.Second)
		defer tick.Stop()
		w.files.busy = func() { webtest.Pass(t, 20*time.Second) }
		status, text, err := webtest.Call(t, c, http.MethodPut, "/v1/files/data/x", &drip{left: 12, tick: tick})
		if status != http.StatusOK || err != nil || w.files.wrote != strings.Repeat("x", 12) {
			t.Errorf("got %d %s, %v; stored %q, want 200 and 12 bytes", status, text, err, w.files.wrote)
		}
	})
}

// A stalled upload is ended, so that no client can occupy a server for ever.
func TestAStalledUpload(t *testing.T) {
	t.Parallel()
	webtest.OverBoth(t, worldAndSite, func(t *testing.T, w *world, c *http.Client) {
		began, gone := io.Pipe()
		defer func() { _ = gone.Close() }()
		go func() { _, _ = gone.Write([]byte("x")) }()
		if status, text, err := webtest.Call(t, c, http.MethodPut, "/v1/files/data/x", began); status == http.StatusOK {
			t.Errorf("got %d %s, %v; stored %q, want a failure", status, text, err, w.files.wrote)
		}
	})
}

// A download may take any time while it makes progress.
func TestALongDownload(t *testing.T) {
	t.Parallel()
	webtest.OverBoth(t, worldAndSite, func(t *testing.T, w *world, c *http.Client) {
		const size = 16 << 20 // more than all buffers in between hold
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
			webtest.Pass(t, 10*time.Second)
		}
		if got != size {
			t.Errorf("got %d bytes, want %d", got, size)
		}
	})
}
