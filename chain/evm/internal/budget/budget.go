package budget

import (
	"context"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
)

// Urgency is the kind of a request, most urgent first.
type Urgency uint8

const (
	Heads  Urgency = iota // what joins the chain: all else waits for it
	Front                 // signed bytes for which an account's others wait
	Sends                 // other signed bytes
	Quotes                // fees, balances, estimates: what is signed next
	Blocks                // transactions and counts of new blocks
	Looks                 // where an attempt is, second opinions
	Search                // blocks read again
	urgencies
)

// leastUrgent is the first of the three kinds that are together sure of a part.
const leastUrgent = Blocks

// sureOf is that part.
const sureOf = 0.3

type urgencyKey struct{}

// Urgently returns a context whose requests are of a kind.
func Urgently(ctx context.Context, u Urgency) context.Context {
	return context.WithValue(ctx, urgencyKey{}, u)
}

func urgencyOf(ctx context.Context) Urgency {
	if u, is := ctx.Value(urgencyKey{}).(Urgency); is {
		return u
	}
	return Search
}

// Budget is safe for concurrent use.
type Budget struct {
	costs   map[string]float64                         // units by method; 1 if it has none
	limited func(error) (after time.Duration, is bool) // whether an endpoint refuses calls for their number, and when to come again

	mu        sync.Mutex
	allowance allowance
	queue     queue
	timer     *time.Timer // serves the queue; nil until a request has waited
}

// New returns the budget of an endpoint that takes so many units a second; 0: that is not known. Limited says whether an
// error of it means that there were too many calls, and after how long to come again, 0 if it does not say.
func New(perSecond float64, costs map[string]float64, limited func(error) (after time.Duration, is bool)) *Budget {
	return &Budget{costs: costs, limited: limited, allowance: newAllowance(perSecond, time.Now())}
}

// SetRate replaces the configured rate, if there is one.
func (b *Budget) SetRate(rate float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.allowance.refillTokens(now, b.queue.holdsFrom(leastUrgent))
	if b.allowance.top > 0 && rate > 0 {
		b.allowance.setTop(rate)
	}
	b.serveQueue(now)
}

// SumCosts returns the units of some calls.
func (b *Budget) SumCosts(calls []rpc.BatchElem) (units float64) {
	for _, call := range calls {
		units += b.CostOf(call.Method)
	}
	return units
}

// CostOf returns the units of one call.
func (b *Budget) CostOf(method string) float64 {
	if cost, has := b.costs[method]; has {
		return cost
	}
	return 1
}

// WaitFor waits until a request of so many units may be made.
func (b *Budget) WaitFor(ctx context.Context, units float64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := &waiter{urgency: urgencyOf(ctx), account: chain.PurposeOf(ctx).Account, units: units, ready: make(chan struct{})}
	b.mu.Lock()
	b.queue.addWaiter(w)
	b.serveQueue(time.Now())
	b.mu.Unlock()
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.queue.removeWaiter(w) { // its turn came at the same moment
		b.allowance.tokens += units
	}
	b.serveQueue(time.Now())
	return ctx.Err()
}

// serveQueue lets all through that may go now, and comes again when the next one may. The caller holds the lock.
func (b *Budget) serveQueue(now time.Time) {
	b.allowance.refillTokens(now, b.queue.holdsFrom(leastUrgent))
	for {
		w := b.queue.firstWaiter(b.allowance.low, b.allowance.burstUnits())
		if w == nil {
			return
		}
		if wait := b.allowance.lackTime(now, w.units); wait > 0 {
			b.serveAfter(wait)
			return
		}
		b.allowance.takeUnits(w)
		b.queue.removeWaiter(w)
		close(w.ready)
	}
}

func (b *Budget) serveAfter(wait time.Duration) {
	if b.timer == nil {
		b.timer = time.AfterFunc(wait, func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.serveQueue(time.Now())
		})
		return
	}
	b.timer.Reset(wait)
}

// BusyFor returns for how long a request would have to wait.
func (b *Budget) BusyFor(ctx context.Context, units float64) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.allowance.refillTokens(now, b.queue.holdsFrom(leastUrgent))
	return b.allowance.gatherTime(now, min(units, b.allowance.burstUnits())+b.queue.unitsBefore(urgencyOf(ctx)))
}

// FitCalls returns how many of some calls one request should have: at least one, and no more than can be used at once.
func (b *Budget) FitCalls(calls []rpc.BatchElem) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.allowance.rate == 0 {
		return len(calls)
	}
	units := 0.0
	for i, call := range calls {
		if units += b.CostOf(call.Method); units > b.allowance.burstUnits() && i > 0 {
			return i
		}
	}
	return len(calls)
}

// QuarterFor returns for how long so many calls are a quarter of what the endpoint takes; 0 if there is no limit.
func (b *Budget) QuarterFor(calls float64) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.allowance.rate == 0 {
		return 0
	}
	return time.Duration(4 * calls / b.allowance.rate * float64(time.Second))
}

// NoteAnswers learns from a request: from its error, or those of its calls.
func (b *Budget) NoteAnswers(err error, calls []rpc.BatchElem) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if after, is := b.limited(err); is {
		b.allowance.noteRefused(now, b.SumCosts(calls), after)
		return
	}
	if err != nil {
		return
	}
	var took, over float64
	var after time.Duration
	for _, call := range calls {
		if wait, is := b.limited(call.Error); is {
			over, after = over+b.CostOf(call.Method), max(after, wait)
			continue
		}
		took += b.CostOf(call.Method)
	}
	b.allowance.noteTaken(now, took)
	if over > 0 {
		b.allowance.noteRefused(now, over, after)
	}
}

// Close ends the timer.
func (b *Budget) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.timer != nil {
		b.timer.Stop()
	}
}
