package evm

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/rpc"
)

// allowance is how many calls a second an endpoint takes, as learned from what it refuses. There is no limit
// before it first refuses something for its number. Then the rate is a part of what it took, falls with each
// refusal and grows slowly, so that a limit is met once in a while; an endpoint that says when to come again is
// asked no sooner (W9). It is safe for concurrent use.
type allowance struct {
	mu     sync.Mutex
	rate   float64       // calls a second; 0: there is no limit
	tokens float64       // calls that may be made at once; below 0 while some wait for theirs
	at     time.Time     // as of then
	fell   time.Time     // when the rate last fell
	until  time.Time     // no request is made before
	pause  time.Duration // the last one whose length the endpoint did not say
	taken  float64       // calls a second that were answered of late
	heard  time.Time     // when the last ones were
}

const (
	leastRate   = 5 // calls a second
	firstPause  = 250 * time.Millisecond
	mostPause   = 10 * time.Second // if the endpoint does not say how long
	fallsTo     = 0.7              // of what it took
	grows       = 1.1              // in a second
	settles     = time.Second      // between two falls: refusals of requests that were under way count once
	partsOfRate = 4                // a request has at most this part of a second's calls
)

// wait waits until a request of so many calls may be made. Requests wait in the order of their coming.
func (a *allowance) wait(ctx context.Context, calls int) error {
	for d := a.reserve(time.Now(), calls); d > 0; d = a.blocked(time.Now()) {
		if err := pause(ctx, d); err != nil {
			a.giveBack(calls)
			return err
		}
	}
	return nil
}

// giveBack returns the calls of a request that is not made.
func (a *allowance) giveBack(calls int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tokens += float64(calls)
}

// reserve takes the calls of a request, and returns for how long it has to wait.
func (a *allowance) reserve(now time.Time, calls int) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	wait := a.until.Sub(now)
	if a.rate == 0 {
		return wait
	}
	a.tokens = min(a.rate/partsOfRate, a.tokens+a.rate*now.Sub(a.at).Seconds()) - float64(calls)
	a.at = now
	return max(wait, time.Duration(-a.tokens/a.rate*float64(time.Second)))
}

// busy returns for how long a request of so many calls would have to wait.
func (a *allowance) busy(now time.Time, calls int) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	wait := a.until.Sub(now)
	if a.rate == 0 {
		return wait
	}
	return max(wait, time.Duration((float64(calls)-a.tokens-a.rate*now.Sub(a.at).Seconds())/a.rate*float64(time.Second)))
}

// blocked returns for how long no request may be made: one that waited may meet a new refusal.
func (a *allowance) blocked(now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.until.Sub(now)
}

// most returns how many calls one request should have.
func (a *allowance) most(configured int) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.rate == 0 {
		return configured
	}
	return min(configured, max(1, int(a.rate/partsOfRate)))
}

// took notes that calls were answered.
func (a *allowance) took(now time.Time, calls int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pause = 0
	// An average over about a second, which a burst cannot raise to more than itself.
	a.taken = a.taken*max(0, 1-now.Sub(a.heard).Seconds()) + float64(calls)
	if a.rate > 0 {
		a.rate *= 1 + (grows-1)*min(1, now.Sub(a.heard).Seconds())
	}
	a.heard = now
}

// refused notes that the endpoint refused a request, or some of its calls, for their number. It may have said
// when to come again.
func (a *allowance) refused(now time.Time, after time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.Sub(a.fell) >= settles {
		if a.rate == 0 {
			a.rate = a.taken
			a.at = now
		}
		a.rate, a.fell = max(leastRate, fallsTo*a.rate), now
		a.pause = min(mostPause, max(firstPause, 2*a.pause))
	}
	a.tokens = min(a.tokens, 0)
	if after = min(after, longest); after <= 0 {
		after = a.pause
	}
	after += time.Duration(rand.Int64N(int64(after)/4 + 1)) //nolint:gosec // several processes must not come back together
	if until := now.Add(after); until.After(a.until) {
		a.until = until
	}
}

// note learns from a request: from its error, or those of its calls.
func (a *allowance) note(err error, calls []rpc.BatchElem) {
	now := time.Now()
	if after, is := limited(err); is {
		a.refused(now, after)
		return
	}
	if err != nil {
		return
	}
	over := 0
	for _, call := range calls {
		if _, is := limited(call.Error); is {
			over++
		}
	}
	a.took(now, max(1, len(calls)-over))
	if over > 0 {
		a.refused(now, 0)
	}
}
