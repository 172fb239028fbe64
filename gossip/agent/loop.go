package agent

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/conchhq/conch/internal/pause"
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
	statements, views := a.statements.Inbox(), a.views.Inbox()
	due := time.NewTimer(0)
	defer due.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.cfg.Transport.Changed():
			a.take()
		case e := <-statements:
			a.hear(e, statements)
		case e := <-views:
			a.take(message(LineSpray, e))
		case <-due.C:
			a.catchUp(statements, views)
			a.do(Tick{})
		}
		due.Reset(a.untilDue())
	}
}

// untilDue is the time until the core has something to do.
func (a *Agent) untilDue() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.core.Due() - a.cfg.Clock()
}

// mostRead is how many messages are read before the first of them is done with: of so many at most the electors' go first.
const mostRead = 64

// hear takes a statement, and what waits behind it. The words of electors go first: they may wait behind one that floods, and a leader that is
// heard too late is deposed.
func (a *Agent) hear(e transport.Envelope, inbox <-chan transport.Envelope) {
	held := []Message{message(LineGossip, e)}
	for read := 1; len(held) > 0; {
		for waits := true; waits && read < mostRead; {
			select {
			case e := <-inbox:
				held, read = append(held, message(LineGossip, e)), read+1
			default:
				waits = false
			}
		}
		held = a.takeOne(held)
	}
}

// catchUp reads what waits, for a round at most: somebody who floods does not stop the time.
func (a *Agent) catchUp(statements, views <-chan transport.Envelope) {
	for began := time.Now(); time.Since(began) < a.cfg.Round; {
		select {
		case e := <-statements:
			a.hear(e, statements)
		case e := <-views:
			a.take(message(LineSpray, e))
		default:
			return
		}
	}
}

// farewell leaves in order.
func (a *Agent) farewell() {
	for range 2 {
		a.do(Leave{})
		_ = pause.For(context.Background(), a.cfg.Round)
	}
	a.do(Leave{})
}
