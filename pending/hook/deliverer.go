package hook

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/internal/step"
)

// Store keeps how far a receiver has been told. One goroutine uses it. Its writes are fenced by the token of the role: they return an error
// that wraps [fence.ErrStale] if that is over, and nothing is stored then.
type Store interface {
	// Open returns the receiver's place. A receiver that is new is told of what happens from now on.
	Open(ctx context.Context) (Place, Health, error)
	// Turn stores a note, and then reads. After an error it is not known whether the note is stored, and nothing counts as read.
	Turn(ctx context.Context, t Turn) (Turned, error)
}

// Deliverer tells one receiver of events.
type Deliverer struct {
	receiver Receiver
	store    Store
	events   Events
	wake     step.Wake
}

// New returns a Deliverer that does nothing until [Deliverer.Run] is called.
func New(r Receiver, s Store, e Events) (*Deliverer, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	if r.Wants == nil {
		r.Wants = func(*Event) bool { return true }
	}
	return &Deliverer{receiver: r, store: s, events: e, wake: step.NewWake()}, nil
}

// Wake says that there may be events. It never blocks, and nothing depends on it.
func (d *Deliverer) Wake() { d.wake.Ring() }

const (
	turnPatience = 10 * time.Second // for one turn of the store
	restPatience = 2 * time.Second  // for the last one
)

// Run tells the receiver of events until ctx ends, and returns its cause. Each write of a POST is an act of the gate (S15), whose act door is open when
// Run is called. It ends by itself with an error that wraps [fence.ErrStale] if the token is over, or with the gate's.
func (d *Deliverer) Run(ctx context.Context, gate *fence.Gate) error {
	token, err := gate.Require(fence.Act)
	if err != nil {
		return err
	}
	at, health, err := d.open(ctx)
	if err != nil {
		return err
	}
	under, end := context.WithCancelCause(ctx)
	defer end(nil)
	l := &loop{
		Deliverer: d, gate: gate, token: token, began: time.Now(), end: end, inbox: step.NewInbox[input](woken{}),
		machine: newMachine(0, at, health, d.receiver.Wants),
	}
	transport := newTransport(d.receiver.Local, l.act)
	defer transport.CloseIdleConnections()
	l.client = transport
	err = step.Hear(under, step.Loop[input]{
		From: l.inbox, Wait: l.wait, Tick: func() []input { return []input{tick{}} },
		Feed: step.Each(under, func(in input) error { l.step(under, in); return nil }),
	}, d.wake, func(struct{}) input { return woken{} })
	end(err)
	l.work.Wait()
	l.finish(ctx)
	return err
}

// open finds the place, and asks again while the store does not answer.
func (d *Deliverer) open(ctx context.Context) (at Place, h Health, err error) {
	for {
		asked, cancel := context.WithTimeout(ctx, turnPatience)
		at, h, err = d.store.Open(asked)
		cancel()
		if err == nil || errors.Is(err, fence.ErrStale) {
			return at, h, err
		}
		d.trouble(err)
		if err := pause.For(ctx, afterMiss); err != nil {
			return at, h, err
		}
	}
}

func (d *Deliverer) trouble(err error) {
	if d.events.Trouble != nil {
		d.events.Trouble(err)
	}
}

// loop feeds a machine for one term.
type loop struct {
	*Deliverer

	client  http.RoundTripper
	gate    *fence.Gate
	token   fence.Token
	began   time.Time
	machine *machine
	inbox   *step.Inbox[input]
	end     context.CancelCauseFunc
	work    sync.WaitGroup
}

func (l *loop) wait() (time.Duration, bool) {
	at, is := l.machine.Due()
	return at - time.Since(l.began), is
}

func (l *loop) step(ctx context.Context, in input) {
	ailed := l.machine.ails()
	for _, a := range l.machine.Step(time.Since(l.began), in) {
		switch a := a.(type) {
		case post:
			l.work.Go(func() { l.tell(ctx, a) })
		case turn:
			l.work.Go(func() { l.turn(ctx, Turn(a)) })
		}
	}
	if ails := l.machine.ails(); ails != ailed && l.events.Ails != nil {
		l.events.Ails(ails, Health{Failures: l.machine.failures, Why: l.machine.why, For: l.machine.now - l.machine.failing})
	}
}

// tell tells the receiver of an event.
func (l *loop) tell(ctx context.Context, p post) {
	err := l.send(ctx, &p.event)
	if _, shut := errors.AsType[*fence.ShutError](err); shut || errors.Is(err, fence.ErrStale) {
		l.end(err)
		return
	}
	if err != nil && ctx.Err() != nil {
		return // nobody knows whether it has come: the successor tells it again
	}
	if l.events.Posted != nil {
		l.events.Posted(err == nil)
	}
	in := answered{intent: p.event.Intent, ok: err == nil}
	if err != nil {
		in.why = err.Error()
	}
	l.inbox.Put(in)
}

func (l *loop) turn(ctx context.Context, t Turn) {
	asked, cancel := context.WithTimeout(ctx, turnPatience)
	defer cancel()
	got, err := l.store.Turn(asked, t)
	switch {
	case errors.Is(err, fence.ErrStale):
		l.end(err)
	case err != nil && ctx.Err() == nil:
		l.trouble(err)
		l.inbox.Put(missed{})
	case err == nil:
		if got.Died > 0 && l.events.Died != nil {
			l.events.Died(got.Died)
		}
		l.inbox.Put(turned(got))
	}
}

// finish notes what was confirmed before the end, so that the successor does not tell it again. A stale leader's note is refused.
func (l *loop) finish(ctx context.Context) {
	for _, in := range l.inbox.Close() {
		l.machine.Step(time.Since(l.began), in)
	}
	note, is := l.machine.rest()
	if !is {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restPatience)
	defer cancel()
	_, _ = l.store.Turn(ctx, Turn{Note: &note}) // else it is told again
}
