package gossip

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/conchhq/conch/gossip/internal/core"
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
	statements, err := a.cfg.Transport.Open(core.LineGossip)
	if err != nil {
		return fmt.Errorf("gossip: the line %q: %w", core.LineGossip, err)
	}
	defer statements.Close()
	views, err := a.cfg.Transport.Open(core.LineOverlay)
	if err != nil {
		return fmt.Errorf("gossip: the line %q: %w", core.LineOverlay, err)
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
		return fmt.Errorf("gossip: %w", errRan)
	}
	a.ran = true
	return nil
}

func (a *Agent) start(statements, views transport.Line) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.statements, a.views = statements, views
	_ = a.step(core.Begin{})
}

func (a *Agent) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts.Dropped = a.statements.Dropped() + a.views.Dropped()
	a.statements, a.views = nil, nil
}

// loop feeds the core. Time passes after the messages that wait to be read: what they say may be what a machine would miss.
func (a *Agent) loop(ctx context.Context) {
	_ = step.HearBoth(ctx, step.Loop[core.Input]{
		From: links{a.cfg.Transport}, Wait: a.wait,
		Tick: func() []core.Input { return []core.Input{core.Tick{}} },
		Feed: func(batch []core.Input) error { a.feed(batch...); return nil },
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
func (l links) Take() []core.Input {
	if all := l.Links(); len(all) > 0 {
		return []core.Input{core.Arrived{Links: all}}
	}
	return nil
}

// feed has the core take a batch. A user's call takes its place between two inputs.
func (a *Agent) feed(batch ...core.Input) {
	for _, in := range a.arrange(batch) {
		_ = a.do(in)
	}
}

// farewell leaves in order.
func (a *Agent) farewell() {
	for range 2 {
		a.feed(core.Leave{})
		_ = pause.For(context.Background(), a.cfg.Round)
	}
	a.feed(core.Leave{})
}

// do feeds the core. The error says why nothing was published.
func (a *Agent) do(in core.Input) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.step(in)
}

// step feeds the core, and does what it asks for. The error says why nothing was published.
func (a *Agent) step(in core.Input) error {
	now := a.cfg.Clock()
	return a.perform(now, a.core.Step(now, in))
}

// perform does what the core asks for.
func (a *Agent) perform(now time.Duration, acts []core.Act) (err error) {
	for _, act := range acts {
		switch act := act.(type) {
		case core.Connect:
			a.cfg.Transport.Connect(act.Name, act.Address)
		case core.Disconnect:
			a.cfg.Transport.Disconnect(act.Name)
		case core.Send:
			a.send(act)
		case core.Unpublished:
			err = act.Why
		case core.Tell:
			a.tell(now, act)
		}
	}
	return err
}

// send hands a message to the transport. It may be lost.
func (a *Agent) send(s core.Send) {
	line := a.statements
	if s.Line == core.LineOverlay {
		line = a.views
	}
	if line == nil {
		return
	}
	for _, to := range s.To {
		if err := line.Send(to, s.Body); err != nil {
			a.counts.Unsent++
			continue
		}
		a.counts.MessagesSent++
		a.counts.BytesSent += uint64(len(s.Body))
	}
}
