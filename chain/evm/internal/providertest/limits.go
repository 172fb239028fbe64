package providertest

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Refusal is how a provider refuses a batch that is too large.
type Refusal int

// The ways in which providers refuse a batch.
const (
	ByObject Refusal = iota // one error, as an object and not as an array
	ByItems                 // an error for each call
	ByStatus                // HTTP 413
)

// BatchLimit refuses requests of more than so many calls.
func BatchLimit(most int, how Refusal) Transport {
	return Transport(func(r *Request, _ Server) *Reply {
		switch how {
		case ByItems:
			return r.faults(-32600, "batch limit %d exceeded: %d requests given", most, len(r.Calls))
		case ByStatus:
			return r.refuse(http.StatusRequestEntityTooLarge, "Payload Too Large")
		default:
			return r.fault(-32600, "batch limit %d exceeded: %d requests given", most, len(r.Calls))
		}
	}).when(func(r *Request) bool { return len(r.Calls) > most })
}

// NoBatches refuses every batch, even of one call.
func NoBatches() Transport {
	return Transport(func(r *Request, _ Server) *Reply {
		return r.fault(-32600, "batch requests are not supported")
	}).when(func(r *Request) bool { return r.Batch })
}

// AllowList refuses a whole request if it has one call of a method that is not on the list.
func AllowList(methods ...string) Transport {
	return func(r *Request, next Server) *Reply {
		for _, c := range r.Calls {
			if !c.is(methods...) {
				return r.refuse(http.StatusForbidden, fmt.Sprintf(`{"error":"method %s is not allowed"}`, c.Method))
			}
		}
		return next(r)
	}
}

// bucket is a token bucket. It begins full.
type bucket struct {
	perSecond, most float64

	mu    sync.Mutex
	left  float64
	since time.Time
}

func newBucket(perSecond, most int) *bucket {
	return &bucket{perSecond: float64(perSecond), most: float64(most), left: float64(most), since: time.Now()}
}

// take takes n tokens if there are so many. Otherwise it says when there will be.
func (b *bucket) take(n int) (wait time.Duration, taken bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.left = min(b.most, b.left+b.perSecond*now.Sub(b.since).Seconds())
	b.since = now
	if b.left >= float64(n) {
		b.left -= float64(n)
		return 0, true
	}
	return time.Duration((float64(n) - b.left) / b.perSecond * float64(time.Second)), false
}

// RateLimit refuses whole requests by HTTP 429 above so many calls a second. With retryAfter it says when to
// come again.
func RateLimit(perSecond, most int, retryAfter bool) Transport {
	b := newBucket(perSecond, most)
	return func(r *Request, next Server) *Reply {
		wait, taken := b.take(len(r.Calls))
		if taken {
			return next(r)
		}
		reply := r.refuse(http.StatusTooManyRequests, `{"error":"Too Many Requests"}`)
		if retryAfter {
			reply.Header.Set("Retry-After", strconv.Itoa(int(wait/time.Second)+1))
		}
		return reply
	}
}

// CallLimit refuses single calls above so many a second.
func CallLimit(perSecond, most int) Behaviour {
	b := newBucket(perSecond, most)
	return func(c *Call, next Answerer) Answer {
		if _, taken := b.take(1); taken {
			return next(c)
		}
		return c.refuse(-32005, "daily request count exceeded, request rate limited")
	}
}

// AnswerLimit refuses a request by an error if its answer has more bytes than that.
func AnswerLimit(most int) Transport {
	return func(r *Request, next Server) *Reply {
		reply := next(r)
		if len(reply.body(r)) <= most {
			return reply
		}
		return r.fault(-32008, "response is too big: exceeded max limit of %d", most)
	}
}
