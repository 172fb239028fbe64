package budget_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm/internal/budget"
)

// newBudget returns the budget of an endpoint whose errors are not about numbers.
func newBudget(perSecond float64, costs map[string]float64) *budget.Budget {
	return budget.New(perSecond, costs, func(error) (time.Duration, bool) { return 0, false })
}

// order has what was let through, in order.
type order struct {
	mu    sync.Mutex
	names []string
	going sync.WaitGroup
}

// ask asks for one call, and notes when its turn has come.
func (o *order) ask(ctx context.Context, b *budget.Budget, name string) {
	o.going.Go(func() {
		if b.WaitFor(ctx, 1) == nil {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.names = append(o.names, name)
		}
	})
	synctest.Wait()
}

func (o *order) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.names)
}

// use uses all units that may be used at once.
func use(t *testing.T, b *budget.Budget) {
	t.Helper()
	for b.BusyFor(t.Context(), 1) <= 0 {
		if err := b.WaitFor(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}
}

// W9: the more urgent go first, in whatever order they came.
func TestUrgency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, o := newBudget(10, nil), &order{}
		use(t, b)
		kinds := map[string]context.Context{
			"search": budget.Urgently(t.Context(), budget.Search), "looks": budget.Urgently(t.Context(), budget.Looks), "blocks": budget.Urgently(t.Context(), budget.Blocks),
			"quotes": budget.Urgently(t.Context(), budget.Quotes), "sends": budget.Urgently(t.Context(), budget.Sends),
			"heads": budget.Urgently(t.Context(), budget.Heads),
		}
		for _, name := range []string{"search", "looks", "blocks", "quotes", "sends", "heads"} {
			o.ask(kinds[name], b, name)
		}
		time.Sleep(10 * time.Second)
		o.going.Wait()
		if got := fmt.Sprint(o.names); got != "[heads sends quotes blocks looks search]" {
			t.Errorf("let through %s, want the most urgent first", got)
		}
	})
}

// W9: what an account's others wait for goes before what is new.
func TestTheFrontGoesFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, o := newBudget(10, nil), &order{}
		use(t, b)
		o.ask(budget.Urgently(t.Context(), budget.Sends), b, "new")
		o.ask(budget.Urgently(t.Context(), budget.Front), b, "front")
		o.ask(budget.Urgently(t.Context(), budget.Heads), b, "heads")
		time.Sleep(10 * time.Second)
		o.going.Wait()
		if got := fmt.Sprint(o.names); got != "[heads front new]" {
			t.Errorf("let through %s, want the front before what is new", got)
		}
	})
}

// W9: however many sends wait, the least urgent kinds get three in ten.
func TestThreeInTenForTheLeastUrgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		b, o := newBudget(10, nil), &order{}
		use(t, b)
		sends, looks := budget.Urgently(ctx, budget.Sends), budget.Urgently(ctx, budget.Looks)
		for range 200 {
			o.ask(sends, b, "send")
			o.ask(looks, b, "look")
		}
		time.Sleep(10 * time.Second)
		end()
		o.going.Wait()
		n := 0
		for _, name := range o.names {
			if name == "look" {
				n++
			}
		}
		if total := len(o.names); total < 95 || total > 105 || n < 27 || n > 33 {
			t.Errorf("of %d calls in ten seconds %d were looks, want about 100 and 30", total, n)
		}
	})
}

// W9: an account with many requests and one with a single one take turns.
func TestAccountsTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		b, o := newBudget(10, nil), &order{}
		use(t, b)
		busy, calm := chain.Purpose{Account: "busy"}.In(ctx), chain.Purpose{Account: "calm"}.In(ctx)
		for range 100 {
			o.ask(busy, b, "busy")
		}
		o.ask(calm, b, "calm")
		o.ask(calm, b, "calm")
		time.Sleep(time.Second)
		end()
		o.going.Wait()
		if at := slices.Index(o.names, "calm"); at < 0 || at > 1 || slices.Index(o.names[at+1:], "calm") > 1 {
			t.Errorf("let through %v, want the calm one every other time", o.names)
		}
	})
}

// W9: no more calls than the configuration allows, and few in the first second: the leader before may have used them.
// A call may cost several units.
func TestTheConfiguredRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		b, o := newBudget(200, map[string]float64{"eth_getBlockReceipts": 20}), &order{}
		for range 3000 {
			o.ask(ctx, b, "one")
		}
		if n := o.count(); n > 20 {
			t.Errorf("%d calls at once at the start, want 20", n)
		}
		time.Sleep(10 * time.Second)
		end()
		o.going.Wait()
		if n := len(o.names); n < 1900 || n > 2200 {
			t.Errorf("%d calls in ten seconds, want 2000, and at most a tenth more", n)
		}
		if cost := b.SumCosts([]rpc.BatchElem{{Method: "eth_getBlockReceipts"}, {Method: "eth_chainId"}}); cost != 21 {
			t.Errorf("the calls cost %v, want 21", cost)
		}
		if got := b.Most(500); got != 50 {
			t.Errorf("a request has at most %d calls, want 50", got)
		}
		b.Refused(0) // the configuration says too much
		if got := b.Most(500); got >= 50 {
			t.Errorf("after a refusal a request has at most %d calls, want fewer", got)
		}
		for range 600 {
			time.Sleep(time.Second)
			b.Took(100)
		}
		if got := b.Most(500); got != 50 {
			t.Errorf("after ten minutes without a refusal a request has at most %d calls, want 50 again", got)
		}
	})
}

// A caller that gives up leaves its turn to the others.
func TestACallerThatGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, o := newBudget(10, nil), &order{}
		use(t, b)
		brief, end := context.WithCancel(t.Context())
		for range 50 {
			o.ask(budget.Urgently(brief, budget.Heads), b, "gave up")
		}
		o.ask(budget.Urgently(t.Context(), budget.Search), b, "stays")
		end()
		synctest.Wait()
		time.Sleep(150 * time.Millisecond)
		o.going.Wait()
		if fmt.Sprint(o.names) != "[stays]" {
			t.Errorf("let through %v, want the one that stays", o.names)
		}
		use(t, b)
		time.Sleep(150 * time.Millisecond) // one call may be made, and not two
		brief, end = context.WithCancel(t.Context())
		o.going.Go(func() { _ = b.WaitFor(budget.Urgently(brief, budget.Heads), 2) })
		synctest.Wait()
		o.ask(t.Context(), b, "smaller")
		began := time.Now()
		end()
		o.going.Wait()
		if took := time.Since(began); took > 0 {
			t.Errorf("a smaller request waits for %v after a larger one has given up, want not at all", took)
		}
	})
}

// W9: a call that costs more than what gathers in a moment has its part all the same.
func TestCostlyCallsHaveTheirShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		b, o := newBudget(25, nil), &order{}
		use(t, b)
		blocks := 0
		var going sync.WaitGroup
		going.Go(func() {
			for b.WaitFor(budget.Urgently(ctx, budget.Blocks), 20) == nil {
				blocks++
			}
		})
		for range 3000 {
			o.ask(budget.Urgently(ctx, budget.Sends), b, "send")
		}
		time.Sleep(100 * time.Second)
		end()
		going.Wait()
		o.going.Wait()
		if blocks < 30 || blocks > 40 || o.count() < 1700 {
			t.Errorf("%d calls of 20 units and %d sends in 100 s, want 37 and 1750", blocks, o.count())
		}
	})
}

// A learned rate that grows for long is no limit any more, and falls again with the next refusal.
func TestALearnedRateHasAnEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(0, nil)
		b.Took(10)
		b.Refused(0)
		for second := range 10_000 {
			time.Sleep(time.Second)
			if b.Took(2); second > 20 && b.Most(500) < 2 {
				t.Fatalf("a request has at most %d calls, want more and more", b.Most(500))
			}
		}
		if got := b.Most(500); got != 500 {
			t.Errorf("after hours without a refusal a request has at most %d calls, want as configured", got)
		}
		for range 20 {
			b.Refused(0)
			time.Sleep(2 * time.Second)
		}
		if got := b.Most(500); got > 5 {
			t.Errorf("after twenty refusals a request has at most %d calls, want few", got)
		}
	})
}
