package agent

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/internal/step"
	"github.com/conchhq/conch/transport"
)

// Run joins the overlay and takes part until ctx ends. Then it says that it does not lead any more, says goodbye, and ends
// its connections, which takes two rounds; it returns nil. It may be called once. Another error says that it could not
// begin. The transport is the caller's to close.
func (a *Agent) Run(ctx context.Context) error {
	if err := a.claim(); err != nil {
		return err
	}
	statements, err := a.cfg.Transport.Open(LineGossip)
	if err != nil {
		return fmt.Errorf("gossip/agent: the line %q: %w", LineGossip, err)
	}
	defer statements.Close()
	views, err := a.cfg.Transport.Open(LineSpray)
	if err != nil {
		return fmt.Errorf("gossip/agent: the line %q: %w", LineSpray, err)
	}
	defer views.Close()
	a.start(statements, views)
	defer a.stop()
	var teller sync.WaitGroup
	done := make(chan struct{})
	defer teller.Wait()
	defer close(done)
	teller.Go(func() { a.mail.tellAll(a.cfg.Tell, done) })
	a.loop(ctx)
	a.farewell()
	return nil
}

// claim comes before the lines: those of a transport that has ended cannot be opened, which is not why a second Run fails.
func (a *Agent) claim() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ran {
		return fmt.Errorf("gossip/agent: %w", ErrRan)
	}
	a.ran = true
	return nil
}

func (a *Agent) start(statements, views transport.Line) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.statements, a.views = statements, views
	_ = a.step(Begin{})
}

func (a *Agent) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts.Dropped = a.statements.Dropped() + a.views.Dropped()
	a.statements, a.views = nil, nil
}

// loop feeds the core. Time passes after the messages that wait to be read: what they say may be what a machine would miss.
func (a *Agent) loop(ctx context.Context) {
	_ = step.HearBoth(ctx, step.Loop[Input]{
		From: links{a.cfg.Transport}, Wait: a.wait,
		Tick: func() []Input { return []Input{Tick{}} },
		Feed: func(batch []Input) error { a.feed(batch...); return nil },
	}, a.statements.Inbox(), a.views.Inbox(), arrives)
}

// wait is the time until the core has something to do.
func (a *Agent) wait() (time.Duration, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.core.Due() - a.cfg.Clock(), true
}

// links has what has become of connections.
type links struct{ transport.Roamer }

// Ready implements [step.Source].
func (l links) Ready() <-chan struct{} { return l.Changed() }

// Take implements [step.Source].
func (l links) Take() []Input {
	if all := l.Links(); len(all) > 0 {
		return []Input{Arrived{Links: all}}
	}
	return nil
}

// feed has the core take a batch. A user's call takes its place between two inputs.
func (a *Agent) feed(batch ...Input) {
	for _, in := range a.arrange(batch) {
		_ = a.do(in)
	}
}

// farewell leaves in order.
func (a *Agent) farewell() {
	for range 2 {
		a.feed(Leave{})
		_ = pause.For(context.Background(), a.cfg.Round)
	}
	a.feed(Leave{})
}
