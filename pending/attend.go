package pending

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/internal/pause"
)

// attendEvery is how often a follower asks the chain, so that nothing closes its idle connection.
const attendEvery = 10 * time.Second

// attended holds the chain's last description that a follower has read.
type attended struct {
	mu          sync.Mutex
	description chain.Description
	at          time.Time
}

func (a *attended) note(d chain.Description) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.description, a.at = d, time.Now()
}

func (a *attended) lately() (d chain.Description, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.description, !a.at.IsZero() && time.Since(a.at) < 2*attendEvery
}

// Attend keeps a follower's connection to the chain open until ctx ends, so that a later Lead
// begins without connecting. After an error it tries again in silence.
func (m *Manager) Attend(ctx context.Context) {
	for ctx.Err() == nil {
		m.attend(ctx)
		_ = pause.For(ctx, attendEvery)
	}
}

func (m *Manager) attend(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, attendEvery)
	defer cancel()
	if d, err := m.cfg.Chain.Describe(ctx); err == nil {
		m.attended.note(d)
	}
}

// describe returns what Attend has read lately, so that a term can begin while the endpoint is
// down; without that it asks until the chain answers.
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
		if err := pause.For(ctx, time.Second); err != nil {
			return d, err
		}
	}
}
