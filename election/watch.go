package election

import (
	"context"
	"log/slog"
	"time"
)

// maxWatches bounds the connections that wait for other processes to end; the
// scopes of further holders are polled.
const maxWatches = 8

// watch replaces the set of processes whose end is awaited.
func (e *Elector) watch(processes []int64) {
	keep := map[int64]bool{}
	for _, p := range processes[:min(len(processes), maxWatches)] {
		keep[p] = true
	}
	for p, cancel := range e.watches {
		if !keep[p] {
			cancel()
			delete(e.watches, p)
		}
	}
	for p := range keep {
		if e.watches[p] != nil {
			continue
		}
		ctx, cancel := context.WithCancel(e.ctx)
		e.watches[p] = cancel
		e.calls.Go(func() { e.await(ctx, p) })
	}
}

// await posts the end of one process.
func (e *Elector) await(ctx context.Context, process int64) {
	for ctx.Err() == nil {
		gone, err := e.cfg.Mint.Wait(ctx, process)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			pause(ctx, e.cfg.BackoffMax)
		case gone:
			e.post(Woken{Process: process})
			return
		}
	}
}

// listen posts the changes that the mint announces. They only wake: what they
// say is looked up before anything is done about it (S12).
func (e *Elector) listen() {
	for e.ctx.Err() == nil {
		err := e.cfg.Mint.Listen(e.ctx, func(c Change) {
			if c.Holder == e.cfg.ID {
				return
			}
			if c == (Change{}) || e.desks[c.Scope] != nil {
				e.post(Woken{Scope: c.Scope, Holder: c.Holder})
			}
		})
		if e.ctx.Err() == nil && err != nil {
			e.cfg.Logger.Warn("not hearing leadership changes, polling instead", slog.Any("error", err))
		}
		pause(e.ctx, e.cfg.RetryMax)
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
