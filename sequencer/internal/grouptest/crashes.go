package grouptest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/sender"
)

// point is where a node dies: right before a write, or right after its commit, of which it does not hear.
type point struct {
	at    func(c core.Change) bool
	after bool
}

func as(sends func(s *sender.Store) bool) func(core.Change) bool {
	return func(c core.Change) bool { return c.Sender != nil && sends(c.Sender) }
}

var (
	intentStored = as(func(s *sender.Store) bool { return len(s.Intents) > 0 })
	grantStored  = as(func(s *sender.Store) bool { return len(s.Grants) > 0 })
	resultStored = as(func(s *sender.Store) bool { return len(s.Results) > 0 })
	markStored   = as(func(s *sender.Store) bool {
		for _, m := range s.Marks {
			if m.Dispatched != (sender.Mark{}).Dispatched {
				return true
			}
		}
		return false
	})
	rowStored  = func(c core.Change) bool { return len(c.Rows) > 0 }
	noteStored = func(c core.Change) bool { return len(c.Noted) > 0 }
)

// points are those of the document, and both ends of an intent's way.
var points = map[string]point{
	"before the intent": {intentStored, false}, "after the intent": {intentStored, true},
	"1S, before the grant": {grantStored, false}, "2S, after the grant": {grantStored, true}, "3S, after the mark": {markStored, true},
	"1C, before the row": {rowStored, false}, "2C, after the row": {rowStored, true}, "3C, after the note": {noteStored, true},
	"before the result": {resultStored, false}, "after the result": {resultStored, true},
}

// Crashes runs so many nodes over databases that open makes, and has one node after the other die at each of the crash
// points and start again. Every intent ends, and none lands twice. P28, P38 to P42.
func Crashes(t *testing.T, members int, open func(t *testing.T) Begin) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var running sync.WaitGroup
	room := make(chan struct{}, atOnce)
	for name, p := range points {
		w := &wake{point: p, died: make(chan int)}
		g := NewGroup(t, members, func(member int) Begin {
			begin := open(t)
			return func(ctx context.Context) sequencer.Store {
				if s := begin(ctx); s != nil {
					return &mortal{Store: s, wake: w, member: member}
				}
				return nil
			}
		})
		running.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			defer func() {
				for _, m := range g.Members {
					m.Halt()
				}
			}()
			if err := w.run(ctx, g); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	running.Wait()
}

const (
	atOnce   = 4  // groups: they mostly wait
	deaths   = 2  // in a group
	payments = 16 // in a group
)

// wake is what the nodes of a group die of.
type wake struct {
	point

	armed atomic.Bool
	died  chan int // members whose nodes are to be stopped
}

func (w *wake) run(ctx context.Context, g *Group) error {
	for _, m := range g.Members {
		m.Start(ctx)
	}
	bank := g.Members[0]
	funds, err := bank.Submit(ctx, "funds", `{"issue": {"to": "office", "amount": 1000}}`)
	if err == nil {
		err = bank.Confirmed(ctx, "funds", funds)
	}
	if err != nil {
		return err
	}
	left, undertaker := deaths, make(chan struct{})
	over, end := context.WithCancel(ctx)
	w.armed.Store(true)
	go func() {
		defer close(undertaker)
		for {
			select {
			case member := <-w.died:
				g.Members[member].Halt()
				left--
				w.armed.Store(left > 0)
				g.Members[member].Start(ctx)
			case <-over.Done():
				return
			}
		}
	}()
	err = pay(ctx, g)
	end()
	<-undertaker
	switch n := g.Taken(); {
	case err != nil:
		return err
	case left > 0:
		return fmt.Errorf("%d of %d deaths did not happen", left, deaths)
	case n != 1+payments:
		return fmt.Errorf("the ledger has taken %d entries, want %d", n, 1+payments)
	}
	return nil
}

// pay has all members pay out of the same notes, each under its own keys, twice handed in.
func pay(ctx context.Context, g *Group) error {
	request := func(i int) string {
		return fmt.Sprintf(`{"pay": {"from": "office", "to": "desk-%d", "amount": %d}}`, i%3, 1+i%7)
	}
	for i := range payments {
		m := g.Members[i%len(g.Members)]
		in, err := m.Submit(ctx, fmt.Sprint(i), request(i))
		if err != nil {
			return err
		}
		if i >= payments-10 { // at the end one waits for each, so that there is a time for every death
			if err := m.Confirmed(ctx, fmt.Sprint(i), in); err != nil {
				return err
			}
		}
	}
	for i := range payments {
		m := g.Members[i%len(g.Members)]
		in, err := m.Submit(ctx, fmt.Sprint(i), request(i))
		if err != nil {
			return err
		}
		if err := m.Confirmed(ctx, fmt.Sprint(i), in); err != nil {
			return err
		}
	}
	return nil
}

// mortal is the store of a node that dies at a point.
type mortal struct {
	sequencer.Store
	*wake

	member int
}

// Write dies once, if it is armed.
func (m *mortal) Write(ctx context.Context, changes []core.Change) ([]core.Twice, error) {
	for _, c := range changes {
		if !m.at(c) || !m.armed.CompareAndSwap(true, false) {
			continue
		}
		if m.after {
			if _, err := m.Store.Write(ctx, changes); err != nil {
				m.armed.Store(true) // nobody knows whether it is there
				return nil, err
			}
		}
		select {
		case m.died <- m.member:
		case <-ctx.Done():
		}
		<-ctx.Done() // the node hears no more of it
		return nil, ctx.Err()
	}
	return m.Store.Write(ctx, changes)
}
