package expiry

import (
	"net/http"
	"sync/atomic"
	"time"
)

// Transport is an http.Transport whose connections are given up once the certificate of a server that has proven one of them has ended:
// a server that is asked again and again would never be verified anew.
type Transport struct {
	*http.Transport

	Now   func() time.Time // time.Now if nil
	until atomic.Int64     // when the first of those ends, in seconds; 0: none is known
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	now := time.Now
	if t.Now != nil {
		now = t.Now
	}
	if until := t.until.Load(); until != 0 && now().Unix() > until {
		t.until.Store(0)
		t.CloseIdleConnections()
	}
	answer, err := t.Transport.RoundTrip(r)
	if err == nil && answer.TLS != nil && len(answer.TLS.VerifiedChains) > 0 {
		for _, c := range answer.TLS.VerifiedChains[0] {
			if until := t.until.Load(); until == 0 || c.NotAfter.Unix() < until {
				t.until.Store(c.NotAfter.Unix())
			}
		}
	}
	return answer, err
}
