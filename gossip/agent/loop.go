package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/transport"
)

// The lines of a transport that an agent opens.
const (
	lineGossip = "gossip" // statements
	lineSpray  = "spray"  // who is connected with whom
)

// second is the time between two ticks of the overlay, but for the jitter.
const second = time.Second

// Soon is in how many parts the first second is divided: a node that finds nobody tries again after each. Where a site starts,
// its contacts may be there a moment later.
const Soon = 5

// Run joins the overlay and takes part until ctx ends. Then it says that it does not lead any more, says goodbye, and ends
// its connections, which takes two rounds; it returns nil. It may be called once. Another error says that it could not
// begin. The transport is the caller's to close.
func (a *Agent) Run(ctx context.Context) error {
	if err := a.claim(); err != nil {
		return err
	}
	statements, err := a.cfg.Transport.Open(lineGossip)
	if err != nil {
		return fmt.Errorf("gossip/agent: the line %q: %w", lineGossip, err)
	}
	defer statements.Close()
	views, err := a.cfg.Transport.Open(lineSpray)
	if err != nil {
		return fmt.Errorf("gossip/agent: the line %q: %w", lineSpray, err)
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
	a.running = true
	a.core.gossipLine, a.core.sprayLine = statements, views
	a.core.keepElectors()
	a.core.feed(a.core.keep)
}

func (a *Agent) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running = false
	a.core.counts.Dropped = a.core.counted().Dropped
	a.core.gossipLine, a.core.sprayLine = nil, nil
}

// do feeds the core. Connections come before whatever else happens: a message may be of one that has just come up.
func (a *Agent) do(f func(c *core)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.core.awake()
	a.core.changed()
	f(a.core)
}

// loop feeds the machines, one input at a time. Time passes after the messages that wait to be read: what they say may be
// what a machine would miss.
func (a *Agent) loop(ctx context.Context) {
	statements, views := a.core.gossipLine.Inbox(), a.core.sprayLine.Inbox()
	tick, turn := newAlarm(), time.NewTimer(0)
	defer tick.Stop()
	defer turn.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.cfg.Transport.Changed():
			a.do(func(*core) {})
		case e := <-statements:
			a.hear(e, statements)
			a.do(tick.sooner)
		case e := <-views:
			a.do(func(c *core) { c.met(e) })
		case <-tick.C:
			a.catchUp(statements, views)
			a.do(func(c *core) { c.tick(); tick.again(c) })
		case <-turn.C:
			a.catchUp(statements, views)
			a.do((*core).turns)
			turn.Reset(jittered(a.core.untilTurn()))
		}
	}
}

// mostRead is how many messages are read before the first of them is done with: of so many at most the electors' go first.
const mostRead = 64

// hear takes a message, and what waits behind it. The words of electors go first: they may wait behind one that floods, and a leader that is
// heard too late is deposed.
func (a *Agent) hear(e transport.Envelope, inbox <-chan transport.Envelope) {
	var first, others []transport.Envelope
	came := []transport.Envelope{e}
	for read := 1; len(came)+len(first)+len(others) > 0; {
		for waits := true; waits && read < mostRead; {
			select {
			case e := <-inbox:
				came, read = append(came, e), read+1
			default:
				waits = false
			}
		}
		a.do(func(c *core) {
			for _, e := range came {
				if c.isElector(e.From) {
					first = append(first, e)
				} else {
					others = append(others, e)
				}
			}
			next := &others
			if len(first) > 0 {
				next = &first
			}
			c.heard((*next)[0])
			came, *next = nil, (*next)[1:]
		})
	}
}

// catchUp reads what waits, for a round at most: somebody who floods does not stop the time.
func (a *Agent) catchUp(statements, views <-chan transport.Envelope) {
	for began := time.Now(); time.Since(began) < a.cfg.Round; {
		select {
		case e := <-statements:
			a.hear(e, statements)
		case e := <-views:
			a.do(func(c *core) { c.met(e) })
		default:
			return
		}
	}
}

// farewell leaves in order. Each step has a round to be heard of before the next one: a peer that hears the goodbye first ends
// the connection, and would not hear the rest.
func (a *Agent) farewell() {
	for _, step := range []func(*core){(*core).retire, (*core).leave} {
		a.do(step)
		_ = pause.For(context.Background(), a.cfg.Round)
	}
	a.do((*core).part)
}

// errNoReason is told where a user withdraws its node and does not say why.
var errNoReason = errors.New("no reason is given")
