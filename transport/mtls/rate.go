package mtls

import "time"

// rate limits what one peer may send: some bytes a second, and a second's worth at once. It is not safe for concurrent use.
type rate struct {
	perSecond int
	used      float64 // bytes that are not paid for with time yet
	at        time.Time
}

// spend counts bytes, and returns how long the reader has to wait before it reads on.
func (r *rate) spend(bytes int, now time.Time) time.Duration {
	if past := now.Sub(r.at); past > 0 && !r.at.IsZero() {
		r.used = max(0, r.used-past.Seconds()*float64(r.perSecond))
	}
	r.at = now
	r.used += float64(bytes)
	over := r.used - float64(r.perSecond)
	return time.Duration(max(0, over) / float64(r.perSecond) * float64(time.Second))
}
