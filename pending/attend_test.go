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

// described is a chain that counts the calls of Describe.
type described struct {
	chain.Chain
	down  atomic.Bool
	asked atomic.Int32
}

func (c *described) Describe(context.Context) (chain.Description, error) {
	c.asked.Add(1)
	if c.down.Load() {
		return chain.Description{}, chain.ErrUnreachable
	}
	return chain.Description{Depth: 7}, nil
}

// A process that has attended begins its term without asking for the chain's description, unless
// that is too old. A follower that cannot reach the chain reports no trouble.
func TestWhoAttendedKnowsTheChain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		line, troubles := &described{}, 0
		m, err := New(Config{Account: "a", Chain: line, Store: &Memory{}, Events: Events{Trouble: func(error) { troubles++ }}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, end := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() { defer close(over); m.Attend(ctx) }()
		time.Sleep(5*attendEvery + time.Second)
		if d, err := m.describe(ctx); err != nil || d.Depth != 7 || line.asked.Load() != 6 {
			t.Errorf("got description %+v after %d calls, error %v; want depth 7 after 6 calls", d, line.asked.Load(), err)
		}
		line.down.Store(true)
		time.Sleep(2 * attendEvery)
		if troubles != 0 {
			t.Errorf("a follower reported %d troubles, want 0", troubles)
		}
		asked := line.asked.Load()
		soon, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if _, err := m.describe(soon); !errors.Is(err, context.DeadlineExceeded) || line.asked.Load() == asked || troubles == 0 {
			t.Errorf("it began with an old description, or reported no trouble: error %v, troubles %d", err, troubles)
		}
		end()
		<-over
	})
}
