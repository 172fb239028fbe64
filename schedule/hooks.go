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
	Key       []byte           // 24 bytes at least
	Hosts     []string         // that are posted to, as in an address: with the port if there is one
	Transport *http.Transport  // whose copy posts, over connections each of whose writes is an act of the gate (default: one with the proxy of the environment)
	Now       func() time.Time // default: [time.Now]
}

// leastKey is how many bytes a key has at least.
const leastKey = 24

// newTransport returns the default of [Hooks.Transport] for a worker that has so many jobs at a time.
func newTransport(slots int) *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: slots, IdleConnTimeout: time.Minute,
		TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: 32 << 10,
	}
}

// clients returns what posts the jobs of a post, by whether they are fenced: each write is an act behind the door behind which such jobs are done.
func (h *Hooks) clients(p *post) map[bool]*http.Transport {
	all := map[bool]*http.Transport{}
	for _, fenced := range []bool{false, true} {
		all[fenced] = webhook.Guard(h.Transport, func(write func(context.Context) error) error { return p.act(fenced, write) })
	}
	return all
}

// post posts a job.
func (h *Hooks) post(ctx context.Context, client *http.Transport, address string, t *Task) error {
	u, err := url.Parse(address)
	if err != nil || !slices.Contains(h.Hosts, u.Host) {
		return fmt.Errorf("%w: this worker does not post to %q: its host is not configured", ErrDead, address)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(t.Args))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDead, err)
	}
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
	res, err := client.RoundTrip(req) // which follows no redirect
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
