package hook

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/conchhq/conch/internal/webhook"
)

const (
	patience  = 10 * time.Second // for the answer to a POST
	mostWords = 300              // bytes of what a receiver says that are kept
	mostRead  = 16 << 10         // and that are read, so that the connection serves again
)

// newTransport returns what posts to a receiver. It uses no proxy, which would connect where nobody looks, and follows no redirect.
func newTransport(local bool) *http.Transport {
	dialer := &net.Dialer{Timeout: patience}
	if !local {
		dialer.Control = checkAddress
	}
	return &http.Transport{
		DialContext: dialer.DialContext, MaxConnsPerHost: Places, MaxIdleConnsPerHost: Places, IdleConnTimeout: time.Minute,
		TLSHandshakeTimeout: patience, MaxResponseHeaderBytes: 32 << 10,
	}
}

// send posts an event, and returns nil if the receiver has confirmed it: with a status of 2xx.
func (d *Deliverer) send(ctx context.Context, e *Event) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	body := d.receiver.Body(e)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.receiver.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "conch")
	webhook.Sign(req.Header, e.Name(), time.Now(), body, d.receiver.Keys...)
	res, err := d.client.RoundTrip(req) // which follows no redirect
	if err != nil {
		return fmt.Errorf("no answer: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	says, _ := io.ReadAll(io.LimitReader(res.Body, mostRead))
	switch res.StatusCode / 100 {
	case 2:
		return nil
	case 3:
		return fmt.Errorf("answer %d: redirects are not followed", res.StatusCode)
	}
	return fmt.Errorf("answer %d: %s", res.StatusCode, says[:min(len(says), mostWords)])
}
