package budget

import (
	"math/rand/v2"
	"time"
)

// allowance is how many units a second an endpoint takes: what the configuration says, or less, as learned from what
// it refuses (W9). If nothing is configured there is no limit before it first refuses something for its number. Then
// the rate is a part of what it took, falls with each refusal and grows slowly, so that a limit is met once in a
// while; an endpoint that says when to come again is asked no sooner. It is a pure machine.
type allowance struct {
	top    float64       // units a second, as configured; 0: not
	rate   float64       // units a second; 0: there is no limit
	tokens float64       // units that may be used at once; below 0 after a request that is larger than all of them
	low    float64       // the part of them of which the least urgent requests are sure, while some wait
	at     time.Time     // as of then
	bad    float64       // the rate at which it last refused something; 0: not known
	fell   time.Time     // when the rate last fell
	until  time.Time     // no request is made before
	pause  time.Duration // the last one whose length the endpoint did not say
	taken  float64       // units a second that were answered of late
	heard  time.Time     // when the last ones were
}

// Longest caps how long an endpoint can make a caller wait.
const Longest = time.Minute

const (
	leastRate   = 5 // units a second
	firstPause  = 250 * time.Millisecond
	mostPause   = 10 * time.Second // if the endpoint does not say how long
	fallsTo     = 0.7              // of what it took
	grows       = 1.1              // in a second, near what was refused
	growsFast   = 1.5              // in a second, far from it, or if that is not known
	settles     = time.Second      // between two falls: refusals of requests that were under way count once
	partsOfRate = 4                // what gathers, and the largest request, are this part of a second's units
	boundless   = 100_000          // units a second: a learned rate that has grown so far is no limit
	firstUnits  = 20               // of a process that begins: the one before it may have used those of this second
)

// newAllowance returns the allowance for a configured rate; 0: there is none.
func newAllowance(top float64, now time.Time) allowance {
	a := allowance{top: top, rate: top, at: now}
	a.tokens = min(a.burstUnits(), firstUnits)
	return a
}

// setTop replaces the configured rate. A rate that was learned below it stays.
func (a *allowance) setTop(top float64) {
	if a.rate >= a.top || a.rate > top {
		a.rate = top
	}
	a.top = top
	a.tokens = min(a.tokens, a.burstUnits())
}

// burstUnits is the most units that gather.
func (a *allowance) burstUnits() float64 { return max(1, a.rate/partsOfRate) }

// refillTokens adds what the time since the last call has brought. lowWait says that some of the least urgent requests wait.
func (a *allowance) refillTokens(now time.Time, lowWait bool) {
	if a.rate == 0 {
		return
	}
	more := a.rate * max(0, now.Sub(a.at).Seconds())
	a.at = now
	a.tokens = min(a.burstUnits(), a.tokens+more)
	if a.low = min(a.burstUnits(), a.low+sureOf*more); !lowWait {
		a.low = 0
	}
}

// lackTime returns for how long a request of so many units has to wait. One that is larger than what gathers waits for
// all of it.
func (a *allowance) lackTime(now time.Time, units float64) time.Duration {
	wait := a.until.Sub(now)
	if a.rate == 0 {
		return wait
	}
	if lack := units - a.tokens; units > a.burstUnits() {
		wait = max(wait, time.Duration((a.burstUnits()-a.tokens)/a.rate*float64(time.Second)))
	} else if lack > 0 {
		wait = max(wait, time.Duration(lack/a.rate*float64(time.Second))+1)
	}
	return wait
}

// gatherTime returns after how long so many units will have come, however many can be used at once.
func (a *allowance) gatherTime(now time.Time, units float64) time.Duration {
	wait := a.until.Sub(now)
	if a.rate > 0 {
		wait = max(wait, time.Duration((units-a.tokens)/a.rate*float64(time.Second)))
	}
	return wait
}

// takeUnits uses the units of a request.
func (a *allowance) takeUnits(w *waiter) {
	if a.rate == 0 {
		return
	}
	a.tokens -= w.units
	if w.urgency >= leastUrgent {
		a.low -= w.units // a debt, if it was more than gathers
	}
}

// noteTaken notes that units were answered.
func (a *allowance) noteTaken(now time.Time, units float64) {
	a.pause = 0
	// An average over about a second, which a burst cannot raise to more than itself.
	a.taken = a.taken*max(0, 1-now.Sub(a.heard).Seconds()) + units
	if a.rate > 0 {
		growth := grows - 1
		if a.bad == 0 || a.rate < fallsTo*a.bad {
			growth = growsFast - 1
		}
		a.rate *= 1 + growth*min(1, now.Sub(a.heard).Seconds())
	}
	if a.top > 0 {
		a.rate = min(a.rate, a.top)
	} else if a.rate > boundless {
		a.rate, a.bad, a.tokens = 0, 0, 0 // there is no limit any more
	}
	a.heard = now
}

// noteRefused notes that the endpoint refused a request of so many units, or some of its calls, for their number. It may
// have said when to come again. A first request that was larger than all it took before says little about the rate.
func (a *allowance) noteRefused(now time.Time, units float64, after time.Duration) {
	if now.Sub(a.fell) >= settles {
		a.bad = a.rate
		if a.rate == 0 {
			a.rate = a.taken
			a.at = now
			if a.taken >= units {
				a.bad = a.taken
			}
		}
		a.rate, a.fell = max(leastRate, fallsTo*a.rate), now
		if a.top > 0 {
			a.rate = min(a.rate, a.top)
		}
		a.pause = min(mostPause, max(firstPause, 2*a.pause))
	}
	a.tokens = min(a.tokens, 0)
	if after = min(after, Longest); after <= 0 {
		after = a.pause
	}
	after += time.Duration(rand.Int64N(int64(after)/4 + 1)) //nolint:gosec // several processes must not come back together
	if until := now.Add(after); until.After(a.until) {
		a.until = until
	}
}
