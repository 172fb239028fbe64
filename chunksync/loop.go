package chunksync

import (
	"context"
	"sync"
	"time"

	"github.com/conchhq/conch/fence"
)

// loop is one leadership: it feeds the machine and does what it says.
type loop struct {
	Config
	client client
	gate   *fence.Gate
	token  fence.Token
	tenure Tenure
	inputs chan input
	end    context.CancelCauseFunc
	over   context.Context // ends with the leadership
	work   sync.WaitGroup

	writing sync.Mutex // one write after the other

	mu      sync.Mutex // of the machine, which writers ask, too
	machine *machine
	moved   chan struct{} // closed when the machine has moved
	sending map[string]sending
}

// sending is the catalog that is on its way to a peer: its content stays until the
// peer has it, though the leader's own has gone on.
type sending struct {
	asked Version
	text  []byte
	drop  func()
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

// alone tells a node that nobody could make whole again.
func (l *loop) alone() bool { return len(l.Peers) == 0 }

// look adds what only the leader knows.
func (l *loop) look(s *Status) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Peers = map[string]Version{}
	for _, id := range l.machine.set.Peers {
		s.Peers[id] = l.machine.Held(id)
	}
	if l.machine.Leading() && l.over.Err() == nil && l.gate.IsOpen(fence.Fenced) {
		s.Leading, s.Holder, s.AsOf = true, l.ID, time.Now()
	}
}
