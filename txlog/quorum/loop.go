package quorum

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/internal/step"
	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/follower"
	"github.com/conchhq/conch/txlog/internal/wire"
	"github.com/conchhq/conch/txlog/quorum/internal/core"
	"github.com/conchhq/conch/txlog/store"
)

// loop is the one goroutine that feeds the core.
type loop struct {
	*Host

	ctx     context.Context //nolint:containedctx // the loop ends with it
	helpers *sync.WaitGroup
	next    time.Time // when the next round begins
	soon    time.Time // when the core looks at what its copy lacks; zero: it lacks nothing
	rounds  int       // since what is written lazily was written to the disk
	peers   []string  // as the core was told

	end   context.CancelFunc // of what is performed; nil: nothing was
	ended <-chan struct{}    // closed when it is performed no more
}

// run feeds what waits as one input: what is to be kept of it is synced once.
func (l *loop) run() error {
	l.next = time.Now() // the first entry has a time, too
	return step.Hear(l.ctx, step.Loop[core.Input]{From: l, Wait: l.wait, Tick: l.turn, Feed: l.take}, l.cfg.Line.Inbox(), l.received)
}

// wait returns when there is something to do without an input.
func (l *loop) wait() (time.Duration, bool) {
	if !l.soon.IsZero() && l.soon.Before(l.next) {
		return time.Until(l.soon), true
	}
	return time.Until(l.next), true
}

// turn lets a round pass, or a part of one.
func (l *loop) turn() (all []core.Input) {
	now := time.Now()
	if !l.soon.IsZero() && !now.Before(l.soon) {
		l.soon, all = time.Time{}, append(all, core.Soon{})
	}
	if now.Before(l.next) {
		return all
	}
	l.next = now.Add(round - now.Sub(l.next)%round) // those that were missed are left out
	l.rounds++
	if names := l.cfg.Peers(); !slices.Equal(names, l.peers) {
		l.peers = slices.Clone(names)
		all = append(all, core.Peers{Names: l.peers})
	}
	return append(all, core.Tick{At: now.UnixMilli()})
}

func (l *loop) take(all []core.Input) error {
	if l.rounds >= idle {
		l.rounds = 0
		if err := l.cfg.Store.Flush(); err != nil {
			return err
		}
	}
	if err := l.feed(core.Batch(all)); err != nil {
		return err
	}
	if l.soon.IsZero() && l.lacks() {
		l.soon = time.Now().Add(round / 4)
	}
	return nil
}

// lacks reports whether the copy lacks something. Then it is looked at four times a round: what does not come in time is asked of
// others, and a whole round would be most of what an entry takes to come to thousands.
func (l *loop) lacks() bool { return l.core.Lacks() }

// idle is after how many rounds what is written lazily is on the disk at the latest.
const idle = 10

// Ready implements [step.Source].
func (l *loop) Ready() <-chan struct{} { return l.bell }

// Take implements [step.Source].
func (l *loop) Take() []core.Input {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.inputs
	for _, head := range l.heads {
		all = append(all, head)
	}
	l.inputs, l.heads = nil, nil
	return all
}

// received reads a message of another node.
func (l *loop) received(e transport.Envelope) core.Input {
	m, err := wire.Decode(e.Body)
	if err == nil && m.Log != l.log {
		err = fmt.Errorf("%w: the message is of log %s, and this is %s", txlog.ErrChain, m.Log.Short(), l.log.Short())
	}
	if err != nil {
		return core.Faulty{From: e.From, Why: err}
	}
	return core.Received{From: e.From, Body: m.Body}
}

// feed has the core take an input, and does what it says, until nothing is left to do.
func (l *loop) feed(in core.Input) error {
	for in != nil {
		out := l.step(in)
		in = nil
		err := out.Do(func(gives []core.Give) {
			for _, g := range gives {
				l.give(g)
			}
		}, l.store, func(acts []core.Act) error {
			l.reveal(out.Load)
			return l.actAll(acts)
		})
		if err != nil {
			return err
		}
		switch {
		case len(out.Writes) > 0:
			in = core.Written{}
		case out.Load:
			has, err := l.load()
			if err != nil {
				return err
			}
			in = core.Loaded{Has: has}
		}
	}
	return nil
}

func (l *loop) store(all []core.Write) error {
	for _, w := range all {
		if err := w.To(l.cfg.Store); err != nil {
			return err
		}
	}
	return nil
}

func (l *loop) actAll(all []core.Act) error {
	l.keepBeats(all)
	for _, a := range all {
		if err := l.act(a); err != nil {
			return err
		}
	}
	return nil
}

// reveal lets others see what the core has, now that it is on the disk: the copy only when it is not about to be made anew.
func (l *loop) reveal(anew bool) {
	l.publish(l.core, anew)
	if l.storing && !anew && !l.core.Over() {
		l.using <- struct{}{}
		l.stored()
		<-l.using
	}
}

func (l *loop) step(in core.Input) core.Output {
	l.using <- struct{}{}
	defer func() { <-l.using }()
	l.works(l.cfg.Clock())
	defer l.works(0)
	out := l.core.Step(l.cfg.Clock(), in)
	l.storing = l.storing || out.Unread() || l.core.Over() // that one's memory may be wrong
	if l.shown.view != nil && l.shown.at != l.core.Copy().Position() {
		l.shown = shown{} // it would keep in memory what is there no more
	}
	return out
}

// load makes a copy of what the store has, which takes as long as it is large.
func (l *loop) load() (core.Has, error) {
	l.works(l.cfg.Clock())
	defer l.works(0)
	return core.Load(l.cfg.Store, l.cfg.New)
}

func (l *loop) act(a core.Act) error {
	switch a := a.(type) {
	case core.Send:
		if _, is := a.Body.(wire.GoalSent); !l.send(a.To, a.Body) && is {
			l.put(core.Unsent{To: a.To})
		}
	case core.Give:
		l.give(a)
	case core.GivePiece:
		l.givePiece(a)
	case core.TicketEnded:
		l.answered(a)
	case core.Publish:
		if l.cfg.Publish != nil {
			l.cfg.Publish(a.Head.Encode())
		}
	case core.Perform:
		l.perform(a)
	case core.Doors:
		l.mu.Lock()
		l.door = a.Door
		l.mu.Unlock()
	case core.Snapshot:
		l.snapshot(a)
	case core.Restart:
		return l.restart(a.Why)
	case core.Lost:
		return fmt.Errorf("%w: %w", ErrLost, a.Why)
	case core.Tell:
		if l.cfg.Tell != nil {
			l.cfg.Tell(eventOf(a.Event))
		}
	}
	return nil
}

// send sends a message. It may be lost. It is false if that is known already.
func (h *Host) send(to string, m wire.Body) bool {
	body, err := wire.Encode(wire.Message{Log: h.log, Body: m})
	return err == nil && h.cfg.Line.Send(to, body) == nil
}

// restart makes a new core of what the store has. What the old one was asked ends without an answer: each asker may ask again.
func (l *loop) restart(why error) error {
	if l.cfg.Tell != nil {
		l.cfg.Tell(Rebuilt{Why: why})
	}
	next, err := l.begin()
	if err != nil {
		return err
	}
	l.using <- struct{}{}
	hint, told, upto := next.Succeed(l.core)
	l.core = next
	<-l.using
	if err := l.tellFrom(told, upto); err != nil {
		return err
	}
	l.peers = nil // the next core knows of none
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.ContainsFunc(l.inputs, isSuggestion) { // a newer one
		l.inputs = append(l.inputs, core.Suggested{Name: hint})
	}
	for ticket, asker := range l.waiting {
		asker <- core.TicketEnded{Ticket: ticket, Err: errAgain}
	}
	clear(l.waiting)
	return nil
}

// tellFrom tells of what is stored after an entry: the core that was given up has stored it, and had no time to say so.
func (l *loop) tellFrom(told, upto uint64) error {
	for told < upto && l.cfg.Tell != nil {
		records, err := l.cfg.Store.Records(told+1, follower.MostAnswer)
		switch {
		case errors.Is(err, store.ErrGone):
			l.cfg.Tell(Fetched{Index: upto})
			return nil
		case err != nil:
			return err
		}
		l.cfg.Tell(Applied{Records: records})
		told += uint64(len(records))
	}
	return nil
}

func (l *loop) answered(a core.TicketEnded) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if asker := l.waiting[a.Ticket]; asker != nil {
		delete(l.waiting, a.Ticket)
		asker <- a
	}
}

// give answers with records of the store. If too many wait for that already, this one is lost.
func (l *loop) give(a core.Give) {
	l.lend(func() {
		if answer, err := core.Pack(l.cfg.Store, follower.Give(a)); err == nil {
			_ = l.send(a.To, wire.Fit(answer))
		}
	})
}

func (l *loop) givePiece(a core.GivePiece) {
	l.lend(func() { _ = l.send(a.To, core.Cut(l.cfg.Store, a.Want)) })
}

func (l *loop) lend(what func()) {
	select {
	case l.reads <- what:
	default:
	}
}

// perform performs an effect, and tries it again while this node may act. Then it says so: the core may not have seen the door shut. The
// one before ends first: its door has shut, and may have opened again between two looks of its guard.
func (l *loop) perform(a core.Perform) {
	if l.cfg.Perform == nil {
		return
	}
	if l.end != nil {
		l.end()
	}
	term, before, ended := l.acts().Term, l.ended, make(chan struct{})
	ctx, cancel := context.WithCancel(l.ctx)
	l.end, l.ended = cancel, ended
	l.helpers.Go(func() {
		defer close(ended)
		defer cancel()
		if before != nil {
			<-before
		}
		l.helpers.Go(func() { l.guard(ctx, cancel, term) })
		for pauses := (pause.Growing{First: round, Most: 10 * round}); ctx.Err() == nil && l.mayAct(term) > 0; {
			if err := l.cfg.Perform(ctx, Due{Log: l.log, Key: a.Key, Effect: a.Effect}); err == nil {
				l.put(core.Done{Key: a.Key})
				return
			}
			_ = pause.For(ctx, pauses.Next())
		}
		l.put(core.Ended{Key: a.Key, Try: a.Try})
	})
}

// guard ends what is performed when the act door shuts. The door's time moves on while a majority answers. It is looked at each
// round: while a machine is suspended its timers stand, and the door's clock does not.
func (l *loop) guard(ctx context.Context, shut func(), term uint64) {
	defer shut()
	for left := l.mayAct(term); left > 0; left = l.mayAct(term) {
		if pause.For(ctx, min(left, round)) != nil {
			return
		}
	}
}

// mayAct returns for how long this node may act outside in a term, as far as is known now.
func (l *loop) mayAct(term uint64) time.Duration {
	d, now := l.acts(), l.cfg.Clock()
	if d.Term != term || !d.Open(now) {
		return 0
	}
	return d.Until - now
}

// snapshot stores a snapshot while the loop goes on, one at a time, and drops what comes before the last but one. One that is not stored is
// left out (Snapshot).
func (l *loop) snapshot(a core.Snapshot) {
	l.mu.Lock()
	busy := l.keeping
	l.keeping = true
	l.mu.Unlock()
	if busy {
		return
	}
	l.helpers.Go(func() {
		kept, err := a.To(l.cfg.Store)
		l.mu.Lock()
		l.keeping = false
		l.mu.Unlock()
		if err == nil {
			l.put(kept)
		}
	})
}
