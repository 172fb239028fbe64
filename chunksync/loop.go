package chunksync

import (
	"context"
	"sync"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/step"
)

// loop runs one leadership: it feeds inputs to the machine and performs its actions.
type loop struct {
	Config
	client client
	gate   *fence.Gate
	token  fence.Token
	tenure Tenure
	inbox  *step.Inbox[input]
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

func (l *loop) run(ctx context.Context) {
	_ = step.Loop[input]{
		From: l.inbox, Wait: l.wait,
		Tick: func() []input { return []input{tick{}} },
		Feed: step.Each(ctx, func(in input) error { return l.step(ctx, in) }),
	}.Run(ctx)
}

// wait returns for how long the machine needs no tick.
func (l *loop) wait() (time.Duration, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.machine.Next()
	return at.Sub(l.Clock()), at != 0
}

func (l *loop) step(ctx context.Context, in input) error {
	l.mu.Lock()
	actions := l.machine.Step(l.Clock(), in)
	close(l.moved)
	l.moved = make(chan struct{})
	l.mu.Unlock()
	for _, a := range actions {
		if _, over := a.(resign); over {
			err := &StaleError{Got: l.tenure, Holder: l.Store.promised().Holder}
			l.end(err)
			return err
		}
		l.work.Go(func() { l.inbox.Put(l.perform(ctx, a)) })
	}
	return nil
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
