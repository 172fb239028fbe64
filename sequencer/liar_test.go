package sequencer_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/sequencertest"
	"github.com/conchhq/conch/sequencer/sequencertest/liar"
)

// I6, Q3: a member answers each question for a handover with a made-up attempt for each state, granted to itself by itself, and
// endorsed by nobody. Nothing of it is inherited, and payments go on as if it had said nothing.
func TestALiarHandsOverNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, 2, 1)
		g.declared.Range, g.sleepAfter = 40, time.Minute
		g.chain = sequencertest.NewChain(g.declared, ledger.Plain{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()
		running.Go(func() { g.chain.Run(ctx, 10*time.Millisecond) })
		lie, _ := liar.Named("hands over what it has made up")
		g.members[1].lie = &lie
		for _, o := range g.members {
			o.start()
		}
		o := g.members[0]
		pay := func(key, request string) {
			began := time.Now()
			if _, err := o.node.Submit(ctx, "k", key, []byte(request), 0); err != nil {
				t.Fatal(err)
			}
			if r, err := o.node.Wait(ctx, "k", key); err != nil || !r.Confirmed {
				t.Fatalf("%s ends as %+v, %v", key, r, err)
			}
			s, err := o.node.Status(ctx, "k")
			if took := time.Since(began); err != nil || s.Inherited > 0 || took > 2*40*10*time.Millisecond /* two ranges */ {
				t.Errorf("%s took %v, and %d were inherited, %v", key, took, s.Inherited, err)
			}
		}
		pay("funds", `{"issue": {"to": "office", "amount": 100}}`)
		for i := range 20 {
			time.Sleep(90 * time.Millisecond)
			pay(fmt.Sprint(i), `{"pay": {"from": "office", "to": "shop", "amount": 1}}`)
		}
		if _, told := g.members[1].lied.Load("handover"); !told {
			t.Error("the liar was asked nothing")
		}
	})
}
