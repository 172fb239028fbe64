package sequencer_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/sequencertest"
	"github.com/conchhq/conch/sequencer/sequencertest/liar"
)

const (
	lyingBlock = time.Second
	lyingRange = 20
	lyingPace  = time.Second      // of one member's payments
	lyingMost  = 15 * time.Second // of a hundred payments all but one take no longer
	lyingPays  = 90               // of one member: five ranges nearly, and whole rounds of all purses
)

// landNothing are the lies of a coordinator that dispatches nothing at all.
var landNothing = []string{
	"neither gives grants nor asks for them", "asks for no attempt", "asks for no endorsement",
}

// keepsAPart is a lie of a coordinator that goes on with what needs none of the states of which it speaks. Some members may have nothing else.
const keepsAPart = "says that states are in use, and that there are others"

// Q3, I10: one of five members lies with its messages for five ranges, and coordinates as often as any. There is so little money that
// payments are made of those before them. What is honest lands, of a hundred all but one within 15 s, all within two ranges, and no more
// is skipped than lands. Where nobody lies a payment takes four seconds. A coordinator that dispatches nothing is named, and nobody else.
func TestALiarDelaysLittle(t *testing.T) {
	t.Parallel()
	runtest.LongRun(t)
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

// pays has the users of a member pay. Together the honest ones have any two purses pay each other the same, and so that none runs dry
// a liar's pay back each time what they have paid.
func (v *victims) pays(g *group, of int, paying *sync.WaitGroup) {
	each := time.Tick(lyingPace)
	for k := range lyingPays {
		<-each
		n := 4*k + of
		from, to := n%6, (n+1+n/6%5)%6
		amount := 1 + (17*(n/30)+11*min(from, to)+23*max(from, to))%50
		if g.members[of].lie != nil {
			from, to, amount = (k/2+k%2)%6, (k/2+1-k%2)%6, 1+k/2%10
		}
		paying.Go(func() {
			v.pay(g.members[of], fmt.Sprint("payment ", n), fmt.Sprintf(`{"pay": {"from": "purse-%d", "to": "purse-%d", "amount": %d}}`, from, to, amount))
		})
	}
}

func besideALiar(t *testing.T, lie liar.Lie) {
	t.Helper()
	g := newGroup(t, 5, 3)
	g.declared.Range, g.declared.Life, g.sleepAfter = lyingRange, lyingRange/2, time.Minute // as conch contract deploy has them to each other
	g.chain = sequencertest.NewChain(g.declared, ledger.Plain{})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
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
	var log bytes.Buffer // of honest members
	for _, o := range g.members {
		if g.log = slog.New(slog.NewTextHandler(&log, nil)); o.lie != nil {
			g.log = slog.New(slog.DiscardHandler)
		}
		o.start()
	}
	v := &victims{ctx: ctx, t: t}
	var paying sync.WaitGroup
	for i := range 24 {
		paying.Go(func() {
			v.pay(g.members[0], fmt.Sprint("funds ", i), fmt.Sprintf(`{"issue": {"to": "purse-%d", "amount": 20}}`, i%6))
		})
	}
	paying.Wait()
	v.took = nil
	for i := range g.members {
		paying.Go(func() { v.pays(g, i, &paying) })
	}
	paying.Wait()
	slices.Sort(v.took)
	most, worst := v.took[len(v.took)*99/100], v.took[len(v.took)-1]
	t.Logf("%d payments: half within %v, nine of ten within %v, all but one of a hundred within %v, all within %v; %d entries skipped",
		len(v.took), v.took[len(v.took)/2], v.took[len(v.took)*9/10], most, worst, g.chain.Skipped())
	for _, kind := range lie.About() {
		if _, told := g.members[4].lied.Load(kind); !told {
			t.Errorf("the liar had no message of kind %v to send: this shows nothing", kind)
		}
	}
	for _, o := range g.members {
		o.halt()
	}
	named := strings.Count(log.String(), "nothing lands of what a coordinator was given")
	right := strings.Count(log.String(), "it is left out for a while\" contract=k coordinator="+account(g.members[4].name).String())
	if named != right || (named > 0) != slices.Contains(landNothing, lie.Name) && lie.Name != keepsAPart {
		t.Errorf("honest members leave somebody out %d times, and the liar %d times:\n%s", named, right, log.String())
	}
	if skipped := g.chain.Skipped(); skipped > len(v.took) {
		t.Errorf("%d entries were skipped, want no more than the %d that landed", skipped, len(v.took))
	}
	longest, limit := lyingMost, 2*lyingRange*lyingBlock
	switch {
	case lie.Withholds: // until its last block, what was granted to the liar is granted to nobody else
		limit += time.Duration(g.declared.Life) * lyingBlock
		longest = limit
	case lie.Name == keepsAPart:
		longest = limit
	}
	if most > longest || worst > limit || v.open > 0 {
		t.Errorf("of honest payments one of a hundred took %v and one %v, and %d were not confirmed; want %v and %v at most, and all", most, worst, v.open, longest, limit)
	}
}

// Q6, I2: transactions alone bring blocks, and a coordinator accepts work and leaves it alone. Its range ends all the same.
func TestALiarWhereBlocksAreRare(t *testing.T) {
	t.Parallel()
	runtest.LongRun(t)
	for _, left := range []wire.Kind{wire.Assemble{}.Kind(), wire.Endorse{}.Kind(), wire.AskGrant{}.Kind()} {
		t.Run(fmt.Sprint(left), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				g := newGroup(t, 5, 3)
				g.declared.Range, g.declared.Life, g.sleepAfter = 10, 5, time.Minute
				g.chain = sequencertest.NewChain(g.declared, ledger.Plain{})
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
