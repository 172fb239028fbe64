package chunksync

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/conchhq/conch/fence"
)

// perform carries out one action and returns its answer. It asks the gate right before a
// request leaves (S15).
func (l *loop) perform(ctx context.Context, a action) input {
	if a, adopts := a.(adopt); adopts {
		return l.adopt(ctx, a)
	}
	var in input
	var peer string
	err := l.checkGate()
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
		l.drop(peer) // nothing else is in transit to it; after a failed send other chunks are
	}
	if errors.Is(err, ErrDamaged) {
		l.end(err) // an intact successor restores the lost chunk
		return deposed{}
	}
	if errors.Is(err, fence.ErrStale) {
		return deposed{}
	}
	if ctx.Err() == nil && !errors.Is(err, fence.ErrShut) {
		l.Events.trouble(peer, err)
	}
	return failed{Peer: peer, Jitter: jitter()}
}

// checkGate asks the gate and reports a refusal.
func (l *loop) checkGate() error {
	err := l.gate.EnsureEpoch(fence.Fenced, l.token.Epoch)
	if err != nil {
		l.Events.refused(err)
	}
	return err
}

// jitter keeps nodes that failed together from retrying together.
func jitter() float64 { return rand.Float64() } //nolint:gosec // a pause is not a secret

func (l *loop) ask(ctx context.Context, peer string) (input, error) {
	held, damaged, err := l.client.promise(ctx, peer)
	if err == nil && damaged {
		l.Events.trouble(peer, fmt.Errorf("%w: the peer lacks chunks of %s", ErrDamaged, held))
	}
	return promised{Peer: peer, Held: held, Damaged: damaged}, err
}

func (l *loop) offer(ctx context.Context, a offer) (input, error) {
	s, err := l.sendingTo(a)
	if err != nil {
		return nil, err
	}
	missing, held, err := l.client.offer(ctx, a.Peer, s.what)
	if s.what.Change != nil && errors.Is(err, errRefused) { // its disk was lost, or its version knows no changes
		if s, err = l.startSending(a, Version{}); err == nil {
			err = l.checkGate()
		}
		if err == nil {
			missing, held, err = l.client.offer(ctx, a.Peer, s.what)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case len(missing) > 0:
		return lacking{Peer: a.Peer, Chunks: missing}, nil
	case held.Compare(l.Store.promised().Held) > 0: // what is written next would count as held there
		return nil, fmt.Errorf("%w: the peer holds %s of this leader, which does not hold it itself", ErrDamaged, held)
	case held.Compare(a.Version) < 0: // a failure, so that the offer is not repeated at once
		return nil, fmt.Errorf("the peer lacks no chunk of %s, but holds %s", a.Version, held)
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

// sendingTo returns the catalog in transit to the peer, or starts with what it lacks of the
// current one.
func (l *loop) sendingTo(a offer) (sending, error) {
	l.mu.Lock()
	s, under := l.sending[a.Peer]
	held := l.machine.Held(a.Peer)
	l.mu.Unlock()
	if under && s.version == a.Version {
		return s, nil
	}
	return l.startSending(a, held)
}

// startSending starts with the current catalog: with what has changed since the peer held
// another one of this tenure, or with all of it.
func (l *loop) startSending(a offer, held Version) (s sending, err error) {
	l.drop(a.Peer)
	c, by, known, unpin := l.Store.current(held)
	s = sending{version: a.Version, unpin: unpin}
	if known {
		s.what.Change, err = json.Marshal(by)
	} else {
		s.what.Catalog, err = c.encode()
	}
	if err == nil && !l.Store.whole() {
		err = ErrDamaged
	}
	if err == nil && by.Tenure != l.tenure {
		err = &StaleError{Got: l.tenure, Promised: by.Tenure} // this node has taken another leader's
	}
	if err != nil {
		unpin()
		return s, err
	}
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
		s.unpin()
	}
}

func (l *loop) dropAll() {
	for peer := range l.Peers {
		l.drop(peer)
	}
}

func (l *loop) send(ctx context.Context, a send) (input, error) {
	err := l.client.send(ctx, a.Peer, a.Chunk)
	if err != nil && !errors.Is(err, fence.ErrStale) {
		// The peer may have refused what has rotted here.
		_, own := l.Store.chunk(a.Chunk)
		switch {
		case errors.Is(own, ErrDamaged) && !l.Store.names(a.Chunk):
			err = errNotNeeded
		case own != nil:
			err = own
		}
	}
	return sent{Peer: a.Peer}, err
}
