package election

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/fence"
)

// Leadership is what a role is given: proof, gate, and a place to report
// progress. It is valid until the role's context ends.
type Leadership struct {
	Token fence.Token
	// Gate is to be asked right before each effect. What it answers may be acted on until
	// the role's function returns; do not hand it to code that outlives that.
	Gate *fence.Gate
	last *atomic.Int64
	now  fence.Clock

	notice *notice
}

// Progress tells the watchdog that the work is moving (Role.StallAfter).
func (l Leadership) Progress() {
	if l.last != nil {
		l.last.Store(int64(l.now()))
	}
}

// Notice is what a role is still given once its context has ended: not to begin
// anything, its gate is shut, but to end what it has begun.
type Notice struct {
	// Deadline is the instant before which all must have ended: a successor may act
	// from then on. 0: as the gate said last.
	Deadline fence.Instant
	// By is when whoever asked for the scope gives up waiting for the promise that all
	// has ended; earlier once the process itself is asked to end. 0: nobody asked, the
	// leadership was lost.
	By fence.Instant
}

// Notice returns the present notice, and a channel that is closed when it is changed
// next. A role that was asked to end, not lost, goes on renewing its term meanwhile,
// and each heartbeat moves the deadline, so that it may take longer than a lease.
func (l Leadership) Notice() (Notice, <-chan struct{}) {
	if l.notice == nil {
		return Notice{}, nil
	}
	return l.notice.read()
}

// notice of one term.
type notice struct {
	mu    sync.Mutex
	is    Notice
	moved chan struct{}
}

func (n *notice) read() (Notice, <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.is, n.moved
}

func (n *notice) change(to func(*Notice)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	to(&n.is)
	close(n.moved)
	n.moved = make(chan struct{})
}

// desk is where one scope's role sits: its gate and whatever runs behind it.
type desk struct {
	role    Role            // of the next term; under the elector's lock
	retired bool            // likewise
	told    []chan struct{} // likewise: closed once the mint knows that it is retired
	elector *Elector
	gate    *fence.Gate // the role's own
	outside *fence.Gate // everybody else's
	latch   *fence.Latch
	term    *term
}

// term is one tenure's running role.
type term struct {
	role    Role
	ctx     context.Context
	end     context.CancelCauseFunc
	lead    Leadership
	notice  *notice
	running sync.WaitGroup
}

func newDesk(e *Elector, r Role) *desk {
	d := &desk{role: r, elector: e}
	d.gate, d.latch = fence.New(r.Scope, e.cfg.Clock)
	d.outside = d.gate.Outside()
	return d
}

// latest is the role as it was last configured.
func (d *desk) latest() Role {
	d.elector.mu.RLock()
	defer d.elector.mu.RUnlock()
	return d.role
}

func (d *desk) open(a Open) {
	t := &term{role: d.latest(), lead: Leadership{Token: a.Token, Gate: d.gate, last: new(atomic.Int64), now: d.elector.cfg.Clock, notice: &notice{moved: make(chan struct{})}}}
	t.notice = t.lead.notice
	t.ctx, t.end = context.WithCancelCause(context.WithoutCancel(d.elector.ctx))
	d.term = t
	d.latch.Open(a.Token, a.ActFrom, a.Deadline)
	d.start(t.role.Fenced)
}

func (d *desk) enter() { d.start(d.term.role.Lead) }

func (d *desk) start(role func(context.Context, Leadership) error) {
	if role == nil {
		return
	}
	t := d.term
	t.lead.Progress()
	t.running.Go(func() {
		err := role(t.ctx, t.lead)
		if t.ctx.Err() != nil {
			return // it was told to end and did
		}
		if err != nil {
			d.stepDown(fmt.Errorf("%w: %w", ErrResigned, err), EndedByFailure)
			return
		}
		d.stepDown(ErrResigned, EndedByRequest)
	})
	if t.role.StallAfter > 0 {
		t.running.Go(func() { d.guard(t) })
	}
}

// stepDown asks the loop, from one of the role's goroutines.
func (d *desk) stepDown(why error, how Ending) {
	d.elector.post(StepDown{Scope: d.gate.Scope(), Why: why, How: how, Timeout: d.elector.cfg.DrainTimeout})
}

// guard steps down when the role reports no progress for too long.
func (d *desk) guard(t *term) {
	tick := time.NewTicker(max(t.role.StallAfter/4, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-t.ctx.Done():
			return
		case <-tick.C:
		}
		quiet := t.lead.now().Sub(fence.Instant(t.lead.last.Load()))
		if quiet > t.role.StallAfter {
			d.stepDown(fmt.Errorf("%w for %s", ErrStalled, quiet.Round(time.Millisecond)), EndedByFailure)
			return
		}
	}
}

// shut is the top of the staircase: gate, then role, then the acts under way and the
// answers that others were given. Ended is posted when the last of them is over, however
// long that takes.
func (d *desk) shut(why error, by fence.Instant) {
	d.latch.Shut(why)
	t := d.term
	t.notice.change(func(is *Notice) { is.By = by })
	t.end(why)
	go func() {
		t.running.Wait()
		_ = d.latch.Drain(context.Background())
		d.elector.post(Ended{Scope: d.gate.Scope()})
	}()
}
