package hook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/webhook"
)

const (
	patience  = 10 * time.Second // for the answer to a POST
	mostWords = 300              // bytes of what a receiver says that are kept
	mostRead  = 16 << 10         // and that are read, so that the connection serves again
)

// newTransport returns what posts to a receiver, while it may. It uses no proxy, which would connect where nobody looks, and follows no redirect.
func newTransport(local bool, may func() error) *http.Transport {
	dialer := &net.Dialer{Timeout: patience}
	if !local {
		dialer.Control = checkAddress
	}
	return webhook.Guard(&http.Transport{
		DialContext: dialer.DialContext, MaxConnsPerHost: Places, MaxIdleConnsPerHost: Places, IdleConnTimeout: time.Minute,
		TLSHandshakeTimeout: patience, MaxResponseHeaderBytes: 32 << 10,
	}, may)
}

// errCut ends a POST that was not sent within an answer of the gate.
var errCut = errors.New("the gate's answer ended before the event was sent")

// send tells the receiver of an event, and returns nil if it has confirmed it. It asks the gate as often as a slow connection outlives an
// answer. Its error is the gate's if that refuses.
func (l *loop) send(ctx context.Context, e *Event) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		said, err := l.begin(ctx, e)
		switch {
		case err == nil:
			return <-said
		case !errors.Is(err, errCut):
			return err
		case ctx.Err() != nil:
			return fmt.Errorf("no answer: %w", context.Cause(ctx))
		}
	}
}

// begin connects and sends within an answer of the gate: when that ends before all is sent, so does the POST. It returns once the event is
// sent, since nothing happens by waiting: said gets what the receiver makes of it.
func (l *loop) begin(ctx context.Context, e *Event) (said chan error, err error) {
	said = make(chan error, 1)
	err = l.gate.Do(ctx, fence.Act, 0, func(answer context.Context, token fence.Token) error {
		if token.Term != l.token.Term {
			return fence.ErrStale
		}
		posting, cut := context.WithCancelCause(ctx)
		sent := make(chan struct{}, 1)
		traced := httptrace.WithClientTrace(posting, &httptrace.ClientTrace{WroteRequest: func(how httptrace.WroteRequestInfo) {
			if how.Err == nil {
				select {
				case sent <- struct{}{}:
				default:
				}
			}
		}})
		go func() {
			defer cut(nil)
			said <- l.post(traced, e)
		}()
		select {
		case <-sent:
			return nil
		case err := <-said:
			said <- err
			return nil
		case <-answer.Done():
		}
		cut(errCut)
		err := <-said
		if said <- err; len(sent) > 0 || err == nil { // it was sent meanwhile
			return nil
		}
		return errCut
	})
	return said, err
}

// may asks the gate once more.
func (l *loop) may() error {
	token, err := l.gate.Require(fence.Act)
	if err == nil && token.Term != l.token.Term {
		err = fence.ErrStale
	}
	return err
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
