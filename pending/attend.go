package pending

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/conchhq/conch/chain"
)

// attendEvery is how often the chain is asked by who waits to lead: often enough that
// no connection is given up meanwhile for being idle.
const attendEvery = 10 * time.Second

// attended is what the chain said of itself while this process waited to lead.
type attended struct {
	mu   sync.Mutex
	what chain.Description
	when time.Time
}

func (a *attended) note(d chain.Description) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.what, a.when = d, time.Now()
}

// lately is what it said, unless that is long ago.
func (a *attended) lately() (d chain.Description, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.what, !a.when.IsZero() && time.Since(a.when) < 2*attendEvery
}

// Attend keeps the line to the chain in use until ctx ends, so that a Lead finds it open
// and begins with the account: whoever takes over is waited for. That a follower does
// not reach the chain troubles nobody; it is tried again.
func (m *Manager) Attend(ctx context.Context) {
	for ctx.Err() == nil {
		m.attend(ctx)
		_ = pause(ctx, attendEvery)
	}
}

func (m *Manager) attend(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, attendEvery)
	defer cancel()
	if d, err := m.cfg.Chain.Describe(ctx); err == nil {
		m.attended.note(d)
	}
}

// describe waits for the chain, unless it was heard of a moment ago: an endpoint that is
// down keeps nobody from leading.
func (m *Manager) describe(ctx context.Context) (chain.Description, error) {
	if d, ok := m.attended.lately(); ok {
		return d, nil
	}
	for {
		d, err := m.cfg.Chain.Describe(ctx)
		if err == nil || errors.Is(err, chain.ErrForeign) {
			return d, err
		}
		if m.cfg.Events.Trouble != nil {
			m.cfg.Events.Trouble(err)
		}
		if err := pause(ctx, time.Second); err != nil {
			return d, err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
