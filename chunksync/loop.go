package chunksync

import (
	"context"
	"sync"
	"time"

	"github.com/conchhq/conch/fence"
)

// loop runs one leadership: it feeds inputs to the machine and performs its actions.
type loop struct {
	Config
	client client
	gate   *fence.Gate
	token  fence.Token
	tenure Tenure
	inputs chan input
	end    context.CancelCauseFunc
	over   context.Context // done when the leadership has ended
	work   sync.WaitGroup

	writing sync.Mutex // held by one write at a time

	mu      sync.Mutex // guards machine, moved and sending; writers read the machine too
	machine *machine
	moved   chan struct{} // closed and replaced at each step of the machine
	sending map[string]sending
}

// sending is the catalog in transit to a peer. Its chunks are pinned until the peer has
// taken it, even if the leader's own catalog is newer by then.
type sending struct {
	version Version
	what    offerRequest
	unpin   func()
}

func (l *loop) run(ctx context.Context, own Version) {
	l.step(ctx, begin{Own: own})
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if at := l.next(); at != 0 {
			timer.Reset(max(at.Sub(l.Clock()), time.Millisecond))
		}
		var in input
		select {
		case in = <-l.inputs:
		case <-timer.C:
			in = tick{}
		case <-ctx.Done():
			return
		}
		l.step(ctx, in)
	}
}

func (l *loop) next() fence.Instant {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.machine.Next()
}

func (l *loop) step(ctx context.Context, in input) {
	l.mu.Lock()
	actions := l.machine.Step(l.Clock(), in)
	close(l.moved)
	l.moved = make(chan struct{})
	l.mu.Unlock()
	for _, a := range actions {
		if _, over := a.(resign); over {
			l.end(&StaleError{Got: l.tenure, Holder: l.Store.promised().Holder})
			return
		}
		l.work.Go(func() { l.tell(ctx, l.perform(ctx, a)) })
	}
}

func (l *loop) tell(ctx context.Context, in input) {
	select {
	case l.inputs <- in:
	case <-ctx.Done():
	}
}

// alone reports whether there are no peers, and so none to restore lost chunks from.
func (l *loop) alone() bool { return len(l.Peers) == 0 }

// fillStatus adds the fields of s that only the leader knows.
func (l *loop) fillStatus(s *Status) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Peers = map[string]Version{}
	for _, id := range l.machine.set.Peers {
		s.Peers[id] = l.machine.Held(id)
	}
	if l.leadsLocked() {
		s.Leading, s.Holder, s.AsOf = true, l.ID, time.Now()
	}
}

// leads reports whether the node takes writes, so that its catalog is the leader's now.
func (l *loop) leads() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leadsLocked()
}

func (l *loop) leadsLocked() bool {
	return l.machine.Leading() && l.over.Err() == nil && l.gate.IsOpen(fence.Fenced)
}
