package quorum

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum/internal/core"
	"github.com/conchhq/conch/txlog/quorum/internal/majority"
)

// The act door shuts and opens again in one term, and who performs has not looked meanwhile. When the core has the effect performed
// again, the one before ends first: two at once would be more than once for nothing.
func TestOnePerformsAtATime(t *testing.T) {
	t.Parallel()
	h, _ := still(t)
	h.door = majority.Door{Term: 3, Opens: 0, Until: time.Hour}
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
	l.perform(core.Perform{Key: key, Try: 1})
	first := begins()
	l.perform(core.Perform{Key: key, Try: 2})
	second := begins()
	if first.Err() == nil || second.Err() != nil || most.Load() != 1 {
		t.Errorf("%d perform it at once", most.Load())
	}
	h.mu.Lock()
	h.door = majority.Door{}
	h.mu.Unlock()
	select {
	case <-second.Done():
	case <-limit:
		t.Error("the door is shut, and it is performed")
	}
}

// An effect waits for the end of the one before. By then the door is another one than when it was asked for, and the guard has not begun to
// look: nobody begins to perform, and the core hears of it. Where the door is the same one, it is performed.
func TestNothingBeginsOutsideItsDoor(t *testing.T) {
	t.Parallel()
	before := majority.Door{Term: 3, Opens: 10, Until: time.Hour}
	for name, then := range map[string]majority.Door{
		"shut":                        {},
		"lapsed":                      {Term: 3, Opens: 10, Until: 20},
		"not open yet":                {Term: 3, Opens: time.Hour, Until: 2 * time.Hour},
		"of another term":             {Term: 4, Opens: 10, Until: time.Hour},
		"still the one it was before": before,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, _ := still(t)
			h.cfg.Clock = func() time.Duration { return time.Minute }
			h.door = before
			began, ends := make(chan struct{}, 10), make(chan struct{})
			h.cfg.Perform = func(context.Context, Due) error {
				began <- struct{}{}
				<-ends // whatever its context says
				return nil
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			var helpers sync.WaitGroup
			defer helpers.Wait()
			defer cancel()
			l := &loop{Host: h, ctx: ctx, helpers: &helpers}
			key := txlog.Key{Index: 4}
			l.perform(core.Perform{Key: key, Try: 1})
			select {
			case <-began:
			case <-ctx.Done():
				t.Fatal("nobody performs it")
			}
			l.perform(core.Perform{Key: key, Try: 2})
			h.mu.Lock()
			h.door = then
			h.mu.Unlock()
			close(ends)
			var told []core.Input
			for want := 2; len(told) < want; told = append(told, l.Take()...) {
				select {
				case <-l.Ready():
				case <-ctx.Done():
					t.Fatalf("the core has heard %v", told)
				}
			}
			if same := then == before; same != (len(began) == 1) || same == slices.Contains(told, core.Input(core.Ended{Key: key, Try: 2})) {
				t.Errorf("%d have begun, and the core has heard %v", len(began), told)
			}
		})
	}
}
