//go:build unix

package bench

import (
	"context"
	"sync"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/board"
)

// burden is what clients had of a log, or of the core alone.
type burden struct {
	took    time.Duration
	answers []time.Duration // how long each client waited for each
	asked   int             // with those of the first part, which is not counted
}

func (b burden) perSecond() float64 { return float64(len(b.answers)) / b.took.Seconds() }

// burdens are what several runs had of one side.
type burdens struct {
	rates, works []float64 // by runs: goals a second, and µs of a processor for each
	answers      []time.Duration
}

// run has clients ask the member that leads, and adds what came of it.
func (b *burdens) run(ctx context.Context, of *board.Board, clients int, lasts time.Duration, goal func(client, n int) (string, []byte)) error {
	leader, err := of.Leader(ctx)
	if err != nil {
		return err
	}
	before := spent(of.PIDs()...)
	one, err := load(ctx, clients, lasts, func(ctx context.Context, client, n int) error {
		id, body := goal(client, n)
		return leader.Put(ctx, id, body)
	})
	if err != nil {
		return err
	}
	b.rates, b.answers = append(b.rates, one.perSecond()), append(b.answers, one.answers...)
	if one.asked > 0 {
		b.works = append(b.works, float64((spent(of.PIDs()...)-before).Microseconds())/float64(one.asked))
	}
	return nil
}

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
			n := 0
			for ; ctx.Err() == nil; n++ {
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
			b.answers, b.asked = append(b.answers, own...), b.asked+n
		})
	}
	group.Wait()
	b.took = lasts
	return b, context.Cause(ctx)
}
