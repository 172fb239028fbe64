package chunksync

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/conchhq/conch/fence"
)

// perform does one action and says what came of it. The gate is asked right before
// anything leaves (S15).
func (l *loop) perform(ctx context.Context, a action) input {
	if a, adopts := a.(adopt); adopts {
		return l.adopt(ctx, a)
	}
	var in input
	var peer string
	err := l.pass()
	switch a := a.(type) {
	case ask:
		peer = a.Peer
		if err == nil {
			in, err = l.ask(ctx, peer)
		}
	case offer:
		peer = a.Peer
		if err == nil {
			in, err = l.offer(ctx, a)
		}
	case send:
		peer = a.Peer
		if err == nil {
			in, err = l.send(ctx, a)
		}
	case adopt, resign:
	}
	if err == nil {
		return in
	}
	if _, offered := a.(offer); offered {
		l.drop(peer) // nothing else is under way to it; of a Send that failed others still are
	}
	if errors.Is(err, ErrDamaged) {
		l.end(err) // a follower is whole, and will have this node made whole again
		return deposed{}
	}
	if errors.Is(err, fence.ErrStale) {
		return deposed{}
	}
	if ctx.Err() == nil && !errors.Is(err, fence.ErrShut) {
		l.Events.trouble(peer, err)
	}
	return failed{Peer: peer, Luck: luck()}
}

// pass asks the gate.
func (l *loop) pass() error {
	err := l.gate.EnsureEpoch(fence.Fenced, l.token.Epoch)
	if err != nil {
		l.Events.refused(err)
	}
	return err
}

// luck keeps nodes that failed together from coming back together.
func luck() float64 { return rand.Float64() } //nolint:gosec // a pause is no secret

func (l *loop) ask(ctx context.Context, peer string) (input, error) {
	held, damaged, err := l.client.promise(ctx, peer)
	if err == nil && damaged {
		l.Events.trouble(peer, fmt.Errorf("%w: not all of %s is there", ErrDamaged, held))
	}
	return promised{Peer: peer, Held: held, Damaged: damaged}, err
}

func (l *loop) offer(ctx context.Context, a offer) (input, error) {
	s, err := l.carry(a)
	if err != nil {
		return nil, err
	}
	missing, held, err := l.client.offer(ctx, a.Peer, s.text)
	switch {
	case err != nil:
		return nil, err
	case len(missing) > 0:
		return lacking{Peer: a.Peer, Chunks: missing}, nil
	case held.Compare(a.Version) < 0: // offered again at once, it would say so again
		return nil, fmt.Errorf("it lacks nothing of %s, and holds %s", a.Version, held)
	}
	l.drop(a.Peer)
	l.mu.Lock()
	before := l.machine.Held(a.Peer)
	l.mu.Unlock()
	if held.Compare(before) > 0 {
		l.Events.took(a.Peer, held)
	}
	return took{Peer: a.Peer, Version: held}, nil
}

// carry is what is on its way to the peer, or now begins to be.
func (l *loop) carry(a offer) (sending, error) {
	l.mu.Lock()
	s, under := l.sending[a.Peer]
	l.mu.Unlock()
	if under && s.asked == a.Version {
		return s, nil
	}
	l.drop(a.Peer)
	c, unpin := l.Store.current()
	text, err := c.encode()
	if err == nil && !l.Store.whole() {
		err = ErrDamaged
	}
	if err != nil || c.Tenure != l.tenure {
		unpin()
		if err == nil {
			err = &StaleError{Got: l.tenure, Promised: c.Tenure} // another's has been taken here
		}
		return s, err
	}
	s = sending{asked: a.Version, text: text, drop: unpin}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sending[a.Peer] = s
	return s, nil
}

func (l *loop) drop(peer string) {
	l.mu.Lock()
	s, under := l.sending[peer]
	delete(l.sending, peer)
	l.mu.Unlock()
	if under {
		s.drop()
	}
}

func (l *loop) dropAll() {
	for peer := range l.Peers {
		l.drop(peer)
	}
}

func (l *loop) send(ctx context.Context, a send) (input, error) {
	chunk, err := l.Store.chunk(a.Chunk)
	if err != nil {
		return nil, err
	}
	return sent{Peer: a.Peer}, l.client.send(ctx, a.Peer, a.Chunk, chunk)
}
