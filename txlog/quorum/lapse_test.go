package quorum_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum"
)

// slow is a state whose goal "slow" takes as long as a test wants.
type slow struct {
	txlog.State

	wait func()
}

func (s slow) Execute(goal []byte, budget *txlog.Budget) txlog.Outcome {
	if string(goal) == "slow" {
		s.wait()
	}
	return s.State.Execute(goal, budget)
}

// The act door lapses while a step takes long, and the end of the step opens it anew: nobody has seen it shut but what performed an
// effect, and has stopped. The effect is performed again, and the next one after it.
func TestADoorLapsesUnseen(t *testing.T) {
	bubble(t, 1, 0, func(t *testing.T, s *site) {
		n := s.nodes[0]
		n.kill()
		var once sync.Once
		var asleep atomic.Int64
		begun, stopped := make(chan struct{}), make(chan struct{})
		cut := func(ctx context.Context, _ *node, _ string) (err error) {
			once.Do(func() {
				close(begun)
				<-ctx.Done()
				err = context.Cause(ctx)
				close(stopped)
			})
			return err
		}
		o := &office{send: cut}
		s.opens(o)
		n.kill()
		before, began := n.with, time.Now()
		n.with = func(c *quorum.Config) {
			before(c)
			c.Clock = func() time.Duration { return time.Since(began) + time.Duration(asleep.Load()) }
			c.New = func() txlog.State {
				return slow{newMailing(), func() {
					asleep.CompareAndSwap(0, int64(time.Hour))
					select {
					case <-stopped:
					case <-time.After(5 * time.Second):
					}
				}}
			}
		}
		n.start()
		pass(5*time.Second + round/2) // between two ticks, as the looks of the guard of what is performed
		n.asks(t, "a", "mail a")
		n.asks(t, "b", "mail b")
		<-begun
		pass(3 * round / 4) // after a tick: the door lapses, and is opened anew, before the next one
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if _, err := n.run.Load().Goal(ctx, "slow", []byte("slow"), 0); err != nil {
			t.Fatal(err)
		}
		if _, _, err := n.run.Load().Fresh(ctx, []byte(`{"get":"count"}`)); err != nil { // a majority answers it: this moves the door on
			t.Fatal(err)
		}
		s.within(5*time.Second, "both are sent", func() bool { return o.has() == "[a b]" })
	})
}
