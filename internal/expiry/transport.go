package expiry

import (
	"net/http"
	"sync/atomic"
	"time"
)

// Transport is an http.Transport that makes its connections anew each minute: a server that is asked again and again would never be
// verified again, and its certificate may have ended.
type Transport struct {
	*http.Transport

	minute atomic.Int64 // of the last request
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if now := time.Now().Unix() / 60; t.minute.Swap(now) != now {
		t.CloseIdleConnections()
	}
	return t.Transport.RoundTrip(r)
}
