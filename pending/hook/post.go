package hook

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/webhook"
)

const (
	patience  = 10 * time.Second // for the answer to a POST
	mostWords = 300              // bytes of what a receiver says that are kept
	mostRead  = 16 << 10         // and that are read, so that the connection serves again
)

// newTransport returns what posts to a receiver, each write as an act. It uses no proxy, which would connect where nobody looks, and follows no redirect.
func newTransport(local bool, act webhook.Act) *http.Transport {
	dialer := &net.Dialer{Timeout: patience}
	if !local {
		dialer.Control = checkAddress
	}
	return webhook.Guard(&http.Transport{
		DialContext: dialer.DialContext, MaxConnsPerHost: Places, MaxIdleConnsPerHost: Places, IdleConnTimeout: time.Minute,
		TLSHandshakeTimeout: patience, MaxResponseHeaderBytes: 32 << 10,
	}, act)
}

// act has something written, while the gate is open and until its answer ends.
func (l *loop) act(write func(context.Context) error) error {
	return l.gate.Do(context.Background(), fence.Act, 0, func(answer context.Context, token fence.Token) error {
		if token.Term != l.token.Term {
			return fence.ErrStale
		}
		return write(answer)
	})
}

// send tells the receiver of an event, and returns nil if it has confirmed it. Its error wraps the gate's if that refuses.
func (l *loop) send(ctx context.Context, e *Event) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err := l.gate.Require(fence.Act); err != nil {
		return err // before it connects
	}
	return l.post(ctx, e)
}

// post posts an event, and returns nil if the receiver has confirmed it: with a status of 2xx.
func (l *loop) post(ctx context.Context, e *Event) error {
	body := l.receiver.Body(e)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.receiver.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "conch")
	webhook.Sign(req.Header, e.Name(), time.Now(), body, l.receiver.Keys...)
	res, err := l.client.RoundTrip(req) // which follows no redirect
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
