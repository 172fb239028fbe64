//go:build unix

package bench

import (
	"context"
	"sync"
	"time"
)

// burden is what clients had of a log, or of the core alone.
type burden struct {
	took    time.Duration
	answers []time.Duration // how long each client waited for each
}

func (b burden) perSecond() float64 { return float64(len(b.answers)) / b.took.Seconds() }

// load has clients ask, each as soon as it has the answer to what it asked before. The first part of the time is not counted.
func load(ctx context.Context, clients int, lasts time.Duration, ask func(ctx context.Context, client, n int) error) (b burden, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		group sync.WaitGroup
		mu    sync.Mutex
	)
	begins := time.Now().Add(lasts / 4)
	ends := begins.Add(lasts)
	for client := range clients {
		group.Go(func() {
			var own []time.Duration
			for n := 0; ctx.Err() == nil; n++ {
				asked := time.Now()
				if asked.After(ends) {
					break
				}
				if err := ask(ctx, client, n); err != nil {
					cancel(err)
					return
				}
				if now := time.Now(); now.After(begins) && now.Before(ends) {
					own = append(own, now.Sub(asked))
				}
			}
			mu.Lock()
			defer mu.Unlock()
			b.answers = append(b.answers, own...)
		})
	}
	group.Wait()
	b.took = lasts
	return b, context.Cause(ctx)
}
