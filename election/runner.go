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

// runner runs one scope's role behind its gate. The runner of lab/sim in cmd/conch is its twin in the simulated
// world, where roles are played: a change here is made there too.
type runner struct {
	role        Role            // of the next term; guarded by Elector.mu
	retired     bool            // guarded by Elector.mu
	retireCalls []chan struct{} // channels of Retire calls; guarded by Elector.mu
	elector     *Elector
	gate        *fence.Gate // the view of the role
	outside     *fence.Gate // the view of all other callers
	latch       *fence.Latch
	running     *running
}

// running is a role that runs in one term.
type running struct {
	role   Role
	ctx    context.Context
	end    context.CancelCauseFunc
	lead   Leadership
	notice *notice
	calls  sync.WaitGroup
}

func newRunner(e *Elector, role Role) *runner {
	r := &runner{role: role, elector: e}
	r.gate, r.latch = fence.New(role.Scope, e.cfg.Clock)
	r.outside = r.gate.Outside()
	return r
}

// latest returns the role as it was last configured.
func (r *runner) latest() Role {
	r.elector.mu.RLock()
	defer r.elector.mu.RUnlock()
	return r.role
}

func (r *runner) open(a Open) {
	t := &running{role: r.latest(), lead: Leadership{Token: a.Token, Gate: r.gate, last: new(atomic.Int64), now: r.elector.cfg.Clock, notice: &notice{moved: make(chan struct{})}}}
	t.notice = t.lead.notice
	t.ctx, t.end = context.WithCancelCause(context.WithoutCancel(r.elector.ctx))
	r.running = t
	r.latch.Open(a.Token, a.ActFrom, a.Deadline)
	r.start(t.role.Fenced)
}

func (r *runner) enter() { r.start(r.running.role.Lead) }

func (r *runner) start(role func(context.Context, Leadership) error) {
	if role == nil {
		return
	}
	t := r.running
	t.lead.Progress()
	t.calls.Go(func() {
		err := role(t.ctx, t.lead)
		if t.ctx.Err() != nil {
			return // it was asked to end
		}
		if err != nil {
			r.stepDown(fmt.Errorf("%w: %w", ErrResigned, err), EndedByFailure)
			return
		}
		r.stepDown(ErrResigned, EndedByRequest)
	})
	if t.role.StallAfter > 0 {
		t.calls.Go(func() { r.endIfStalled(t) })
	}
}

// stepDown asks the loop to give the scope up; the role's goroutines call it.
func (r *runner) stepDown(why error, how Ending) {
	r.elector.post(StepDown{Scope: r.gate.Scope(), Why: why, How: how, Timeout: r.elector.cfg.DrainTimeout})
}

// endIfStalled gives the scope up when the role reports no progress for too long.
func (r *runner) endIfStalled(t *running) {
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
			r.stepDown(fmt.Errorf("%w for %s", ErrStalled, quiet.Round(time.Millisecond)), EndedByFailure)
			return
		}
	}
}

// shut shuts the gate and cancels the role. However long that takes, it posts Ended when the role
// has returned, its acts have ended and the answers to other callers have expired.
func (r *runner) shut(why error, by fence.Instant) {
	r.latch.Shut(why)
	t := r.running
	t.notice.change(func(is *Notice) { is.By = by })
	t.end(why)
	go func() {
		t.calls.Wait()
		_ = r.latch.Drain(context.Background())
		r.elector.post(Ended{Scope: r.gate.Scope()})
	}()
}
