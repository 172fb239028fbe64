package election

import (
	"context"
	"log/slog"
	"maps"

	"github.com/conchhq/conch/election/internal/core"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/internal/pause"
)

// wait is a wait for the end of a process.
type wait struct {
	ctx    context.Context //nolint:containedctx // of the wait
	cancel context.CancelFunc
}

// awaitProcess waits for the end of a process once, and says what came of it unless it was cancelled.
func (e *Elector) awaitProcess(a core.Await) {
	maps.DeleteFunc(e.waits, func(_ uint64, w wait) bool { return w.ctx.Err() != nil })
	w := wait{}
	w.ctx, w.cancel = context.WithCancel(e.ctx)
	e.waits[a.Serial] = w
	e.calls.Go(func() {
		defer w.cancel()
		if pause.For(w.ctx, a.After) != nil {
			return
		}
		gone, err := e.cfg.Mint.Wait(w.ctx, a.Process)
		if w.ctx.Err() == nil {
			e.inbox.Put(core.Waited{Process: a.Process, Serial: a.Serial, Gone: gone, Err: err})
		}
	})
}

// cancelWait cancels a wait, if it goes on.
func (e *Elector) cancelWait(a core.Unwait) {
	if w, is := e.waits[a.Serial]; is {
		w.cancel()
	}
}

// listen posts the changes that the mint announces. They only cause bids: the elector acts on the
// answer to a bid, never on an announcement (S12).
func (e *Elector) listen() {
	for e.ctx.Err() == nil {
		err := e.cfg.Mint.Listen(e.ctx, func(c mint.Change) {
			if c.Holder == e.cfg.ID {
				return
			}
			if c == (mint.Change{}) || e.runner(c.Scope) != nil {
				e.inbox.Put(core.Woken{Scope: c.Scope, Holder: c.Holder})
			}
		})
		if e.ctx.Err() == nil && err != nil {
			e.cfg.Logger.Warn("cannot listen for leadership changes, polling instead", slog.Any("error", err))
		}
		_ = pause.For(e.ctx, e.set.RetryMax)
	}
}
