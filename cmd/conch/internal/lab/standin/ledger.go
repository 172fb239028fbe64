package standin

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/conchhq/conch/internal/fleet"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/sequencertest"
)

// Ledger is a chain in memory that takes every signature for good, and makes a block each time, also of nothing.
type Ledger struct {
	*sequencertest.Chain

	mu      fleet.Heard // told of each dispatch
	last    dispatches
	longest time.Duration // between two dispatches
}

// dispatches are what was submitted so far.
type dispatches struct {
	entries int
	by      ledger.Account // the last one
	at      time.Time      // when
}

// trusting verifies nothing.
type trusting struct{ ledger.Scheme }

// Verify implements ledger.Scheme.
func (trusting) Verify(ledger.Account, ledger.Hash, []byte) bool { return true }

func newLedger(c ledger.Contract, s ledger.Scheme) *Ledger {
	return &Ledger{Chain: sequencertest.NewChain(c, trusting{s})}
}

func (l *Ledger) run(ctx context.Context, every time.Duration) {
	var mining sync.WaitGroup
	defer mining.Wait()
	mining.Go(func() { l.Chain.Run(ctx, every) })
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = l.Nudge(ctx) // it is always taken
		}
	}
}

// Submit implements sequencer.Ledger.
func (l *Ledger) Submit(ctx context.Context, tx ledger.Sent) error {
	if len(tx.Entries) > 0 {
		l.mu.Tell(func() {
			now := time.Now()
			if !l.last.at.IsZero() {
				l.longest = max(l.longest, now.Sub(l.last.at))
			}
			l.last = dispatches{l.last.entries + len(tx.Entries), tx.By, now}
		})
	}
	return l.Chain.Submit(ctx, tx)
}

// dispatched returns how many entries were submitted.
func (l *Ledger) dispatched() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last.entries
}

// pause returns the longest time between two dispatches since it was called before, and begins anew.
func (l *Ledger) pause() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	longest := l.longest
	l.longest = 0
	return longest
}

// until waits for a dispatch after which something is so.
func (l *Ledger) until(ctx context.Context, what string, is func(dispatches) bool) error {
	if err := l.mu.Await(ctx, func() bool { return is(l.last) }); err != nil {
		return fmt.Errorf("waiting until %s: %w", what, err)
	}
	return nil
}
