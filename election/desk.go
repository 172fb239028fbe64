package election

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/fence"
)

// Leadership is what a role gets from its elector. It is valid until the role's context ends.
type Leadership struct {
	Token fence.Token
	// Gate answers whether the role may act. Ask it right before each effect. Its answers are
	// valid until the role's function returns, so give it to no code that outlives that.
	Gate *fence.Gate
	last *atomic.Int64
	now  fence.Clock

	notice *notice
}

// Progress reports that the role makes progress: see [Role].StallAfter.
func (l Leadership) Progress() {
	if l.last != nil {
		l.last.Store(int64(l.now()))
	}
}

// Notice says how long a role may take to end the acts that it has begun, once its context has
// ended and its gate is shut.
type Notice struct {
	// Deadline is the instant before which all acts must have ended, since a successor may act
	// from then on. 0: the gate's last deadline.
	Deadline fence.Instant
	// By is when the drain times out, earlier once the process itself is asked to stop. 0: the
	// leadership was lost, so no caller waits.
	By fence.Instant
}

// Notice returns the current notice and a channel that is closed when it changes. During a drain
// heartbeats go on, and each moves the deadline, so that acts may take longer than a lease.
func (l Leadership) Notice() (Notice, <-chan struct{}) {
	if l.notice == nil {
		return Notice{}, nil
	}
	return l.notice.read()
}

// notice is the Notice of one term.
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

// desk has one scope's gate, and the role that runs behind it.
type desk struct {
	role    Role            // of the next term; guarded by Elector.mu
	retired bool            // guarded by Elector.mu
	told    []chan struct{} // channels of Retire calls; guarded by Elector.mu
	elector *Elector
	gate    *fence.Gate // the view of the role
	outside *fence.Gate // the view of all other callers
	latch   *fence.Latch
	term    *term
}

// term is a role that runs in one term.
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

// latest returns the role as it was last configured.
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
			return // it was asked to end
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

// stepDown asks the loop to give the scope up; the role's goroutines call it.
func (d *desk) stepDown(why error, how Ending) {
	d.elector.post(StepDown{Scope: d.gate.Scope(), Why: why, How: how, Timeout: d.elector.cfg.DrainTimeout})
}

// guard gives the scope up when the role reports no progress for too long.
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

// shut shuts the gate and cancels the role. However long that takes, it posts Ended when the role
// has returned, its acts have ended and the answers to other callers have expired.
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
