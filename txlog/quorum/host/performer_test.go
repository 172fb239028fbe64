package host

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum"
)

// The act door shuts and opens again in one term, and who performs has not looked meanwhile. When the core has the effect performed
// again, the one before ends first: two at once would be more than once for nothing.
func TestOnePerformsAtATime(t *testing.T) {
	t.Parallel()
	h, _ := still(t)
	h.door = quorum.Door{Term: 3, Opens: 0, Until: time.Hour}
	began, most := make(chan context.Context, 10), atomic.Int64{}
	now := atomic.Int64{}
	h.cfg.Perform = func(ctx context.Context, _ Due) error {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer now.Add(-1)
		began <- ctx
		<-ctx.Done()
		return ctx.Err()
	}
	ctx, cancel := context.WithCancel(t.Context())
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer cancel()
	l := &loop{Host: h, ctx: ctx, helpers: &helpers}
	limit := time.After(time.Minute)
	begins := func() (of context.Context) {
		select {
		case of = <-began:
		case <-limit:
			t.Fatal("nobody performs it")
		}
		return of
	}
	key := txlog.Key{Index: 4}
	l.perform(Perform{Key: key, Try: 1})
	first := begins()
	l.perform(Perform{Key: key, Try: 2})
	second := begins()
	if first.Err() == nil || second.Err() != nil || most.Load() != 1 {
		t.Errorf("%d perform it at once", most.Load())
	}
	h.mu.Lock()
	h.door = quorum.Door{}
	h.mu.Unlock()
	select {
	case <-second.Done():
	case <-limit:
		t.Error("the door is shut, and it is performed")
	}
}
