package schedule

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/conchhq/conch/internal/webhook"
)

// Hooks is how jobs are posted to an address: as the Standard Webhooks convention says, signed with a key that both sides know. The message's id is the job's,
// the same in each attempt: a receiver that remembers it does no job twice. Conch-Job-Attempt says which one it is, and Conch-Job-Scheduled-At the time
// of a cron's job. An answer of 2xx is done, 410 is dead, and everything else, a redirect too, is a failure.
type Hooks struct {
	Key    []byte            // 24 bytes at least
	Hosts  []string          // that are posted to, as in an address: with the port if there is one
	Client http.RoundTripper // default: [http.DefaultTransport]
	Now    func() time.Time  // default: [time.Now]
}

// leastKey is how many bytes a key has at least.
const leastKey = 24

// post posts a job.
func (h *Hooks) post(ctx context.Context, address string, t *Task) error {
	u, err := url.Parse(address)
	if err != nil || !slices.Contains(h.Hosts, u.Host) {
		return fmt.Errorf("%w: this worker does not post to %q: its host is not configured", ErrDead, address)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, http.NoBody)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDead, err)
	}
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(&permitted{bytes.NewReader(t.Args), t}), nil }
	req.Body, _ = req.GetBody()
	req.ContentLength = int64(len(t.Args))
	id := "job_" + strconv.FormatInt(t.ID, 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", id)
	webhook.Sign(req.Header, id, h.Now(), t.Args, h.Key)
	req.Header.Set("Conch-Job-Attempt", strconv.Itoa(t.Attempt))
	if t.MaybeRepeated {
		req.Header.Set("Conch-Job-Maybe-Repeated", "1")
	}
	if !t.At.IsZero() {
		req.Header.Set("Conch-Job-Scheduled-At", t.At.Format(time.RFC3339Nano))
	}
	res, err := h.Client.RoundTrip(req) // which follows no redirect
	if err != nil {
		return fmt.Errorf("%s does not answer: %w", u.Host, err)
	}
	defer func() { _ = res.Body.Close() }()
	says, _ := io.ReadAll(io.LimitReader(res.Body, 1024))
	switch {
	case res.StatusCode/100 == 2:
		return nil
	case res.StatusCode == http.StatusGone:
		return fmt.Errorf("%w: it answers %s: %s", ErrDead, res.Status, says)
	case res.StatusCode/100 == 3:
		return fmt.Errorf("it answers %s, to %q: redirects are not followed", res.Status, res.Header.Get("Location"))
	}
	return fmt.Errorf("it answers %s: %s", res.Status, says)
}

// permitted is what is sent, for as long as the attempt may act: it is read as it is written to the connection, for which the process may have waited, or stood still.
type permitted struct {
	body io.Reader
	t    *Task
}

// Read implements io.Reader.
func (p *permitted) Read(to []byte) (int, error) {
	if err := p.t.MayAct(); err != nil {
		return 0, err
	}
	return p.body.Read(to)
}
