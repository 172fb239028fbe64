package sequencer

import (
	"context"
	"fmt"

	"github.com/conchhq/conch/sequencer/internal/core"
)

// late is the error of what the loop has not answered in time.
func (p *place) late(err error) error {
	if why := p.why.Load(); why != nil {
		return &UnreadError{p.address(), *why}
	}
	return fmt.Errorf("%w: %w", ErrSlow, err)
}

// ask has the loop do something for a user: it calls one of both functions, once, now or later.
func ask[T any](ctx context.Context, n *Node, address string, do func(p *place, answer func(T), busy func())) (told T, err error) {
	p, err := n.placeOf(address)
	if err != nil {
		return told, err
	}
	done, busy := make(chan T, 1), make(chan struct{}, 1)
	call := func() {
		if ctx.Err() == nil { // else the user has left
			do(p, func(t T) { done <- t }, func() { busy <- struct{}{} })
		}
	}
	select {
	case n.calls <- call:
	case <-n.stopped:
		return told, ErrStopped
	case <-ctx.Done():
		return told, p.late(ctx.Err())
	}
	select {
	case told = <-done:
		return told, nil
	case <-busy:
		return told, ErrBusy
	case <-n.stopped:
		return told, ErrStopped
	case <-ctx.Done():
		return told, p.late(ctx.Err())
	}
}

// placeOf returns one of the node's contracts, unless the node is stopped.
func (n *Node) placeOf(address string) (*place, error) {
	select {
	case <-n.stopped:
		return nil, ErrStopped
	default:
	}
	if p := n.places[address]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%w: %s", ErrContract, address)
}

// find has the loop note something about one of the node's contracts, once the node has begun.
func (n *Node) find(ctx context.Context, address string, note func()) error {
	_, err := ask(ctx, n, address, func(_ *place, answer func(struct{}), _ func()) {
		note()
		answer(struct{}{})
	})
	return err
}

// reach has the loop read something of a contract that is awake.
func reach[T any](ctx context.Context, n *Node, address string, read func(*place) T) (T, error) {
	return ask(ctx, n, address, func(p *place, answer func(T), busy func()) {
		n.with(p, 0, func() { answer(read(p)) }, busy)
	})
}

// with has the loop do something once a contract is awake, or if too much waits for it.
func (n *Node) with(p *place, size int, do, busy func()) {
	n.feed(core.Reach{Ticket: n.ticket(waiting{do: do, busy: busy}), Contract: p.address(), Size: size})
}

// waiting is what a user waits for. One of its functions is called, once.
type waiting struct {
	do       func() // the contract is awake
	busy     func() // too much waits for it
	accepted func(core.Accepted)
	again    func(core.Submit)
}

// ticket returns the number under which something waits.
func (n *Node) ticket(w waiting) uint64 {
	n.tickets++
	n.waiting[n.tickets] = w
	return n.tickets
}

// take returns what waits under a number, which waits no more. Nobody waits for a second answer: that is a fault of the core, which
// the log names, and no reason for the process to end.
func (n *Node) take(ticket uint64) waiting {
	w, waits := n.waiting[ticket]
	if delete(n.waiting, ticket); !waits {
		n.cfg.Log.Error("a user is answered twice, which is a fault of conch: the second answer is dropped", "ticket", ticket)
		return waiting{do: func() {}, busy: func() {}, accepted: func(core.Accepted) {}, again: func(core.Submit) {}}
	}
	return w
}
