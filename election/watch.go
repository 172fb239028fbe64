package election

import (
	"context"
	"log/slog"
	"time"

	"github.com/conchhq/conch/internal/pause"
)

// maxWatches limits the connections that wait for other processes to end. The scopes of further
// holders are polled.
const maxWatches = 8

// maxUnwantedWait is how long a wait may go on that is no longer wanted. Cancelling it costs the mint
// a connection just when a new leader needs the server, and most waits end earlier by themselves.
const maxUnwantedWait = time.Second

// watch is a wait for the end of one process.
type watch struct {
	ctx    context.Context
	cancel context.CancelFunc
	ending *time.Timer // cancels an unwanted wait; nil if it is wanted
}

// watch replaces the set of processes whose end the elector waits for.
func (e *Elector) watch(processes []int64) {
	keep := map[int64]bool{}
	for _, p := range processes[:min(len(processes), maxWatches)] {
		keep[p] = true
	}
	var delay time.Duration // of new waits
	for p, w := range e.watches {
		switch {
		case w.ctx.Err() != nil:
			delete(e.watches, p)
			continue
		case !keep[p] && w.ending == nil:
			w.ending = time.AfterFunc(maxUnwantedWait, w.cancel)
		}
		if !keep[p] {
			delay = 2 * linger // by then the old wait's connection is free for the new one
		}
	}
	for p := range keep {
		if w := e.watches[p]; w != nil && (w.ending == nil || w.ending.Stop()) {
			w.ending = nil
			continue
		}
		ctx, cancel := context.WithCancel(e.ctx)
		w := &watch{ctx: ctx, cancel: cancel}
		e.watches[p] = w
		e.calls.Go(func() {
			_ = pause.For(ctx, delay)
			e.await(w, p)
		})
	}
}

// await posts Woken when the process has ended.
func (e *Elector) await(w *watch, process int64) {
	for w.ctx.Err() == nil {
		gone, err := e.cfg.Mint.Wait(w.ctx, process)
		switch {
		case w.ctx.Err() != nil:
			return
		case err != nil:
			_ = pause.For(w.ctx, e.cfg.BackoffMax)
		case gone:
			// Cancel first: an answer under way may name the process again, for a scope that
			// this does not wake. That answer must start a new wait.
			w.cancel()
			e.post(Woken{Process: process})
			return
		}
	}
}

// listen posts the changes that the mint announces. They only cause bids: the elector acts on the
// answer to a bid, never on an announcement (S12).
func (e *Elector) listen() {
	for e.ctx.Err() == nil {
		err := e.cfg.Mint.Listen(e.ctx, func(c Change) {
			if c.Holder == e.cfg.ID {
				return
			}
			if c == (Change{}) || e.runner(c.Scope) != nil {
				e.post(Woken{Scope: c.Scope, Holder: c.Holder})
			}
		})
		if e.ctx.Err() == nil && err != nil {
			e.cfg.Logger.Warn("cannot listen for leadership changes, polling instead", slog.Any("error", err))
		}
		_ = pause.For(e.ctx, e.cfg.RetryMax)
	}
}
