package evm

import (
	"context"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
)

// A budget lets requests through to an endpoint no faster than it takes them. Where they have to wait, the more
// urgent ones go first, and of equally urgent ones those of each account in turn; the least urgent three kinds are
// sure of a part. Both halves are pure, under one lock: allowance has the numbers, queue the requests that wait.

// urgency is the kind of a request, most urgent first.
type urgency uint8

const (
	urgentHeads  urgency = iota // what joins the chain: all else waits for it
	urgentFront                 // signed bytes for which an account's others wait
	urgentSends                 // other signed bytes
	urgentQuotes                // fees, balances, estimates: what is signed next
	urgentBlocks                // transactions and counts of new blocks
	urgentLooks                 // where an attempt is, second opinions
	urgentSearch                // blocks read again
	urgencies
)

// leastUrgent is the first of the three kinds that are together sure of a part.
const leastUrgent = urgentBlocks

// sureOf is that part.
const sureOf = 0.3

type urgencyKey struct{}

// urgently returns a context whose requests are of a kind.
func urgently(ctx context.Context, u urgency) context.Context {
	return context.WithValue(ctx, urgencyKey{}, u)
}

func urgencyOf(ctx context.Context) urgency {
	if u, is := ctx.Value(urgencyKey{}).(urgency); is {
		return u
	}
	return urgentSearch
}

// budget is safe for concurrent use.
type budget struct {
	costs map[string]float64 // units by method; 1 if it has none

	mu        sync.Mutex
	allowance allowance
	queue     queue
	timer     *time.Timer // serves the queue; nil until a request has waited
}

// limit replaces the configured rate, if there is one.
func (b *budget) limit(rate float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.allowance.refill(now, b.queue.holds(leastUrgent))
	if b.allowance.top > 0 && rate > 0 {
		b.allowance.limit(rate)
	}
	b.serve(now)
}

// cost returns the units of some calls.
func (b *budget) cost(calls []rpc.BatchElem) (units float64) {
	for _, call := range calls {
		units += b.costOf(call.Method)
	}
	return units
}

func (b *budget) costOf(method string) float64 {
	if cost, has := b.costs[method]; has {
		return cost
	}
	return 1
}

// wait waits until a request of so many units may be made.
func (b *budget) wait(ctx context.Context, units float64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := &waiter{urgency: urgencyOf(ctx), account: chain.AccountOf(ctx), units: units, ready: make(chan struct{})}
	b.mu.Lock()
	b.queue.add(w)
	b.serve(time.Now())
	b.mu.Unlock()
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.queue.remove(w) { // its turn came at the same moment
		b.allowance.tokens += units
	}
	b.serve(time.Now())
	return ctx.Err()
}

// serve lets all through that may go now, and comes again when the next one may. The caller holds the lock.
func (b *budget) serve(now time.Time) {
	b.allowance.refill(now, b.queue.holds(leastUrgent))
	for {
		w := b.queue.first(b.allowance.low, b.allowance.burst())
		if w == nil {
			return
		}
		if wait := b.allowance.lacks(now, w.units); wait > 0 {
			b.comeAgain(wait)
			return
		}
		b.allowance.take(w)
		b.queue.remove(w)
		close(w.ready)
	}
}

func (b *budget) comeAgain(wait time.Duration) {
	if b.timer == nil {
		b.timer = time.AfterFunc(wait, func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.serve(time.Now())
		})
		return
	}
	b.timer.Reset(wait)
}

// busy returns for how long a request would have to wait.
func (b *budget) busy(ctx context.Context, units float64) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.allowance.refill(now, b.queue.holds(leastUrgent))
	return b.allowance.gathers(now, min(units, b.allowance.burst())+b.queue.before(urgencyOf(ctx)))
}

// fit returns how many of some calls one request should have: at least one, and no more than can be used at once.
func (b *budget) fit(calls []rpc.BatchElem) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.allowance.rate == 0 {
		return len(calls)
	}
	units := 0.0
	for i, call := range calls {
		if units += b.costOf(call.Method); units > b.allowance.burst() && i > 0 {
			return i
		}
	}
	return len(calls)
}

// forQuarter returns for how long so many calls are a quarter of what the endpoint takes; 0 if there is no limit.
func (b *budget) forQuarter(calls float64) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.allowance.rate == 0 {
		return 0
	}
	return time.Duration(4 * calls / b.allowance.rate * float64(time.Second))
}

// note learns from a request: from its error, or those of its calls.
func (b *budget) note(err error, calls []rpc.BatchElem) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if after, is := limited(err); is {
		b.allowance.refused(now, b.cost(calls), after)
		return
	}
	if err != nil {
		return
	}
	var took, over float64
	var after time.Duration
	for _, call := range calls {
		if wait, is := limited(call.Error); is {
			over, after = over+b.costOf(call.Method), max(after, wait)
			continue
		}
		took += b.costOf(call.Method)
	}
	b.allowance.took(now, took)
	if over > 0 {
		b.allowance.refused(now, over, after)
	}
}

// close ends the timer.
func (b *budget) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.timer != nil {
		b.timer.Stop()
	}
}
