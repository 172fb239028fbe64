package pending

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/chain"
)

// told counts how often it is asked what it is.
type told struct {
	chain.Chain
	down  atomic.Bool
	asked atomic.Int32
}

func (c *told) Describe(context.Context) (chain.Description, error) {
	c.asked.Add(1)
	if c.down.Load() {
		return chain.Description{}, chain.ErrUnreachable
	}
	return chain.Description{Depth: 7}, nil
}

// Whoever waited with a line to the chain begins its term without asking what chain it
// is; what it heard too long ago does not count. A follower's silence troubles nobody.
func TestWhoAttendedKnowsTheChain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		line, troubles := &told{}, 0
		m, err := New(Config{Account: "a", Chain: line, Store: &Memory{}, Events: Events{Trouble: func(error) { troubles++ }}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, end := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() { defer close(over); m.Attend(ctx) }()
		time.Sleep(5*attendEvery + time.Second)
		if d, err := m.describe(ctx); err != nil || d.Depth != 7 || line.asked.Load() != 6 {
			t.Errorf("%+v after being asked %d times: %v", d, line.asked.Load(), err)
		}
		line.down.Store(true)
		time.Sleep(2 * attendEvery)
		if troubles != 0 {
			t.Errorf("a follower told of %d troubles", troubles)
		}
		asked := line.asked.Load()
		soon, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if _, err := m.describe(soon); !errors.Is(err, context.DeadlineExceeded) || line.asked.Load() == asked || troubles == 0 {
			t.Errorf("it begins with what it heard long ago: %v", err)
		}
		end()
		<-over
	})
}
