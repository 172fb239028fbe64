package sequencer

import (
	"context"
	"errors"
	"fmt"
)

var (
	// ErrBusy means that too much waits for the contract, and that nothing was done.
	ErrBusy = errors.New("too much waits for the contract")
	// ErrSlow means that the node did not answer in time. What was asked for may be done.
	ErrSlow = errors.New("the node did not answer in time")
)

// UnreadError means that the node could not read a contract in time, so that nothing was done: its chain or the store does
// not answer, or the contract is another one. The node goes on trying.
type UnreadError struct{ Contract, Why string }

func (e *UnreadError) Error() string {
	return fmt.Sprintf("the contract %s cannot be read now: %s", e.Contract, e.Why)
}

// late is the error of what the loop has not answered in time.
func (p *place) late(err error) error {
	if why := p.why.Load(); why != nil {
		return &UnreadError{p.set.Declared.Address, *why}
	}
	return fmt.Errorf("%w: %w", ErrSlow, err)
}

// ask has the loop read something of a contract, which answers once. Read returns false if it never will.
func ask[T any](ctx context.Context, n *Node, address string, read func(p *place, answer func(T)) bool) (told T, err error) {
	p, err := n.find(ctx, address)
	if err != nil {
		return told, err
	}
	done, busy := make(chan T, 1), make(chan struct{}, 1)
	select {
	case n.tasks <- func() {
		if !read(p, func(t T) { done <- t }) {
			busy <- struct{}{}
		}
	}:
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
