package fleet

import (
	"context"
	"sync"
)

// Heard guards what processes have reported, and wakes those that wait for it. The zero value can be used.
type Heard struct {
	sync.Mutex

	changed chan struct{} // closed at the next change; nil: nobody waits
}

// Tell changes something under the lock.
func (h *Heard) Tell(change func()) {
	h.Lock()
	defer h.Unlock()
	change()
	if h.changed != nil {
		close(h.changed)
		h.changed = nil
	}
}

// Await waits until something is so, which is looked at under the lock after each change, or returns the cause of the context's end.
func (h *Heard) Await(ctx context.Context, is func() bool) error {
	for {
		h.Lock()
		if h.changed == nil {
			h.changed = make(chan struct{})
		}
		so, changed := is(), h.changed
		h.Unlock()
		if so {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
