package election

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/election/internal/core"
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

// runner runs one scope's role behind its gate.
type runner struct {
	role    Role // of the next term; guarded by Elector.mu
	retired bool // guarded by Elector.mu
	elector *Elector
	gate    *fence.Gate // the view of the role
	outside *fence.Gate // the view of all other callers
	latch   *fence.Latch
	running *running
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

// beginTerm begins a term.
func (r *runner) beginTerm(token fence.Token) {
	t := &running{role: r.latest(), lead: Leadership{Token: token, Gate: r.gate, last: new(atomic.Int64), now: r.elector.cfg.Clock, notice: &notice{moved: make(chan struct{})}}}
	t.notice = t.lead.notice
	t.ctx, t.end = context.WithCancelCause(context.WithoutCancel(r.elector.ctx))
	r.running = t
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
		if err := role(t.ctx, t.lead); t.ctx.Err() == nil { // else it was asked to end
			r.elector.inbox.Put(core.Resigned{Token: t.lead.Token, Err: err})
		}
	})
	if t.role.StallAfter > 0 {
		t.calls.Go(func() { r.watchProgress(t) })
	}
}

// watchProgress says so when the role reports no progress for too long.
func (r *runner) watchProgress(t *running) {
	tick := time.NewTicker(max(t.role.StallAfter/4, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-t.ctx.Done():
			return
		case <-tick.C:
		}
		if quiet := t.lead.now().Sub(fence.Instant(t.lead.last.Load())); quiet > t.role.StallAfter {
			r.elector.inbox.Put(core.Resigned{Token: t.lead.Token, Err: fmt.Errorf("%w for %s", ErrStalled, quiet.Round(time.Millisecond))})
			return
		}
	}
}

// cancelRole cancels the role. However long that takes, it says when the role has returned.
func (r *runner) cancelRole(a core.Cancel) {
	t := r.running
	t.notice.change(func(is *Notice) { is.By = a.By })
	t.end(lostTerm(a.Token, a.Why))
	go func() {
		t.calls.Wait()
		r.elector.inbox.Put(core.Returned{Scope: a.Token.Scope})
	}()
}

// drainActs says when the acts have ended and the answers to other callers have expired.
func (r *runner) drainActs() {
	go func() {
		_ = r.latch.Drain(context.Background())
		r.elector.inbox.Put(core.Ended{Scope: r.gate.Scope()})
	}()
}
