package sequencer_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/sequencer"
)

// Nodes that are drained coordinate nothing, also after their contract has slept, and own and endorse as before. With none
// left an intent waits; undrained, they go on with it.
func TestDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, 3, 2)
		for _, o := range g.members {
			o.start()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		owner := g.members[0]
		drain := func(on bool, all ...*organisation) {
			for _, o := range all {
				if err := o.node.Drain(ctx, "k", on); err != nil {
					t.Fatal(err)
				}
				if s, err := o.node.Look(ctx, "k"); err != nil || s.Drained != on {
					t.Fatalf("%s says that it is drained: %v, %v; want %v", o.name, s.Drained, err, on)
				}
			}
		}
		submit := func(key string) {
			if _, err := owner.node.Submit(ctx, "k", key, []byte(`{"issue": {"to": "office", "amount": 10}}`), 0); err != nil {
				t.Fatal(err)
			}
		}
		drain(true, g.members[:2]...)
		for i := range 3 {
			key := fmt.Sprint("funds ", i)
			submit(key)
			if r, err := owner.node.Wait(ctx, "k", key); err != nil || !r.Confirmed {
				t.Fatalf("it ended as %+v, %v", r, err)
			}
			time.Sleep(2 * time.Second) // the contract falls asleep
			for _, o := range g.members[:2] {
				if s, err := o.node.Status(ctx, "k"); err != nil || !s.Drained || len(s.Coordinates) > 0 {
					t.Errorf("%s, which is drained, says %+v, %v", o.name, s, err)
				}
			}
		}
		drain(true, g.members[2])
		submit("waits")
		time.Sleep(2 * time.Second)
		if found, err := owner.node.List(ctx, "k", sequencer.Filter{Most: 1}); err != nil || found[0].Ended {
			t.Errorf("with all drained got %+v, %v; want it to wait", found, err)
		}
		drain(false, g.members[1])
		if r, err := owner.node.Wait(ctx, "k", "waits"); err != nil || !r.Confirmed {
			t.Errorf("it ended as %+v, %v", r, err)
		}
	})
}
