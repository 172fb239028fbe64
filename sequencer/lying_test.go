package sequencer_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/sequencertest/liar"
	"github.com/conchhq/conch/sequencer/wire"
)

const (
	lyingBlock = 100 * time.Millisecond
	lyingRange = 40
)

// Q3, I10: one of five members lies with its messages for five ranges, and coordinates as often as any. What is honest lands, and
// takes two ranges at most. On the same network, with nobody who lies, it takes half a second.
func TestALiarDelaysLittle(t *testing.T) {
	t.Parallel()
	pgtest.LongRun(t)
	for _, lie := range liar.Lies() {
		t.Run(lie.Name, func(t *testing.T) { bubble(t, func(t *testing.T) { besideALiar(t, lie) }) })
	}
}

// victims are the users of honest members.
type victims struct {
	ctx context.Context
	t   *testing.T

	mu   sync.Mutex
	took []time.Duration
	open int // payments that were not confirmed
}

func (v *victims) pay(o *organisation, id, request string) {
	began := time.Now()
	_, err := o.node.Submit(v.ctx, "k", id, []byte(request), 0)
	if err != nil {
		v.t.Error(err)
		return
	}
	if o.lie != nil {
		return // its own users have themselves to thank
	}
	r, err := o.node.Wait(v.ctx, "k", id)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.took = append(v.took, time.Since(began)); err != nil || !r.Confirmed {
		v.open++
	}
}

func besideALiar(t *testing.T, lie liar.Lie) {
	t.Helper()
	g := newGroup(t, 5, 3)
	g.declared.Range, g.declared.Life, g.sleepAfter = lyingRange, lyingRange/2, time.Minute // as conch contract deploy has them to each other
	g.chain = sequencer.NewChain(g.declared, ledger.Plain{})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	var working sync.WaitGroup
	defer working.Wait()
	defer cancel()
	working.Go(func() { g.chain.Run(ctx, lyingBlock) })
	working.Go(func() { // blocks come anyhow
		for each := time.Tick(lyingBlock); ctx.Err() == nil; <-each {
			_ = g.chain.Nudge(ctx)
		}
	})
	g.members[4].lie = &lie
	for _, o := range g.members {
		o.start()
	}
	v := &victims{ctx: ctx, t: t}
	for i := range 4 {
		v.pay(g.members[0], fmt.Sprint("funds ", i), `{"issue": {"to": "office", "amount": 1000}}`)
	}
	v.took = nil
	var paying sync.WaitGroup
	each := time.Tick(2 * lyingBlock)
	for i := range 5 * lyingRange / 2 {
		<-each
		paying.Go(func() {
			v.pay(g.members[i%5], fmt.Sprint("payment ", i), fmt.Sprintf(`{"pay": {"from": "office", "to": "desk-%d", "amount": %d}}`, i%3, 1+i%7))
		})
	}
	paying.Wait()
	slices.Sort(v.took)
	worst := v.took[len(v.took)-1]
	t.Logf("%d payments: half within %v, nine of ten within %v, all within %v; %d entries skipped",
		len(v.took), v.took[len(v.took)/2], v.took[len(v.took)*9/10], worst, g.chain.Skipped())
	for _, kind := range lie.About() {
		if g.members[4].lied[kind].Load() == 0 {
			t.Errorf("the liar had no message of kind %v to send: this shows nothing", kind)
		}
	}
	limit := 2 * lyingRange * lyingBlock
	if lie.Withholds { // until its last block, what was granted to the liar is granted to nobody else
		limit += time.Duration(g.declared.Life) * lyingBlock
	}
	if worst > limit || v.open > 0 {
		t.Errorf("an honest payment took %v, and %d were not confirmed; want %v at most, and all", worst, v.open, limit)
	}
}

// Q6, I2: transactions alone bring blocks, and a coordinator accepts work and leaves it alone. Its range ends all the same.
func TestALiarWhereBlocksAreRare(t *testing.T) {
	t.Parallel()
	pgtest.LongRun(t)
	for _, left := range []wire.Kind{wire.Assemble{}.Kind(), wire.Endorse{}.Kind(), wire.AskGrant{}.Kind()} {
		t.Run(fmt.Sprint(left), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				g := newGroup(t, 5, 3)
				g.declared.Range, g.declared.Life, g.sleepAfter = 10, 5, time.Minute
				g.chain = sequencer.NewChain(g.declared, ledger.Plain{})
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				var working sync.WaitGroup
				defer working.Wait()
				defer cancel()
				working.Go(func() { g.chain.Run(ctx, lyingBlock) })
				silent := liar.Silent("coordinates nothing to its end", left)
				honest := g.members[0]
				for _, o := range g.members[1:] {
					o.lie = &silent
				}
				for _, o := range g.members {
					o.start()
				}
				v := &victims{ctx: ctx, t: t}
				for i := range 3 {
					v.pay(honest, fmt.Sprint("payment ", i), `{"issue": {"to": "office", "amount": 1000}}`)
				}
				if t.Log(v.took); v.open > 0 {
					t.Errorf("%d payments of 3 are still open after %v", v.open, v.took)
				}
			})
		})
	}
}
