package evm

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/conchhq/conch/chain/keyservice"
	"github.com/conchhq/conch/internal/pause"
)

const (
	signPatience  = 5 * time.Second        // how long one signature may wait for a service that throttles
	callPatience  = 3 * time.Second        // how long one answer of a service of keys may take
	shortestLull  = 100 * time.Millisecond // after the first refusal to answer more
	shortestPause = time.Second            // after any other fault
	longestLull   = 30 * time.Second
)

// lull says when a signer outside of this process is asked again that was throttled or silent, or that cannot sign with its key.
// While it throttles, signatures wait for it, each up to patience. Once one has waited in vain, or the fault is another,
// all fail at once with that fault until the pause is over, and then one call tries first: so many transactions that wait to be
// signed cost the time of one. It is safe for concurrent use.
type lull struct {
	patience time.Duration // how long one signature may wait
	single   bool          // a refusal is about one transaction, and not about the key

	mu     sync.Mutex
	fault  error     // nil: it signs
	since  time.Time // when it was noted; what was asked for earlier is no news
	until  time.Time // nothing is asked for before
	shut   bool      // until then all fail at once
	pauses pause.Growing
}

// ask calls a signer, when it may be called.
func (l *lull) ask(ctx context.Context, call func(context.Context) error) error {
	limit := time.Now().Add(l.patience)
	for {
		began, err := l.enter(ctx, limit)
		if err != nil {
			return err
		}
		err = call(ctx)
		if again := l.note(ctx, began, limit, err); !again {
			return err
		}
	}
}

// enter waits until the signer may be asked, or returns why it may not.
func (l *lull) enter(ctx context.Context, limit time.Time) (began time.Time, err error) {
	for {
		l.mu.Lock()
		now, wait := time.Now(), time.Until(l.until)
		switch {
		case l.fault == nil, wait <= 0:
			if l.shut {
				l.until = now.Add(callPatience) // the others see what comes of this one
			}
			l.mu.Unlock()
			return now, nil
		case l.shut, l.until.After(limit):
			defer l.mu.Unlock()
			return now, l.fault
		}
		fault := l.fault
		l.mu.Unlock()
		if pause.For(ctx, wait) != nil {
			return now, fault
		}
	}
}

// note takes in the answer, and reports whether the call is made again.
func (l *lull) note(ctx context.Context, began, limit time.Time, err error) (again bool) {
	kind, is := keyservice.KindOf(err)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	switch {
	case err == nil:
		if began.After(l.since) {
			l.fault, l.shut, l.pauses = nil, false, pause.Growing{}
		}
		return false
	case !is, l.single && kind == keyservice.Refused, ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled):
		return false // it is about this signature alone, or about this caller
	}
	if l.fault == nil || began.After(l.since) { // of all that were asked at once, the first says it
		l.pauses.First, l.pauses.Most = shortestLull, longestLull
		if kind != keyservice.Throttled {
			l.pauses.First = shortestPause
		}
		next := l.pauses.Next()
		l.fault, l.since, l.until = err, now, now.Add(next+rand.N(next/2)) //nolint:gosec // so that nodes do not come back together
	}
	if kind == keyservice.Throttled && !l.shut && !l.until.After(limit) {
		return true
	}
	l.shut = true
	return false
}
