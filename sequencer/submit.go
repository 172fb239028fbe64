package sequencer

import (
	"context"
	"sync/atomic"

	"github.com/conchhq/conch/sequencer/core"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/sender"
)

// asking is a user who waits until an intent is stored. Several may do so under one key.
type asking struct {
	done chan answer // takes one
	left atomic.Bool
}

type answer struct {
	sequence ledger.Sequence
	err      error
}

// Submit hands an intent in: what a user asks for, under a key of theirs. A key that was used before for the same request
// names the intent of that time; for another request the error is ErrConflict. When Submit returns without an error, the
// intent is stored (P28), and ends confirmed or reverted. A deadline is a block; 0 is none. After ErrBusy,
// ErrContract, ErrConflict, a *RequestError or an *UnreadError it is not stored. After another error it may be: ask again
// with the same key.
func (n *Node) Submit(ctx context.Context, address, key string, request []byte, deadline uint64) (ledger.Sequence, error) {
	p, err := n.find(ctx, address)
	if err != nil {
		return ledger.Sequence{}, err
	}
	payload, err := p.set.Rules.Prepare(request)
	if err != nil {
		return ledger.Sequence{}, &RequestError{err}
	}
	a := &asking{done: make(chan answer, 1)}
	defer a.left.Store(true)
	n.post(func() { n.handIn(p, a, sender.Submit{Key: key, Payload: payload, Deadline: deadline}) })
	select {
	case a := <-a.done:
		return a.sequence, a.err
	case <-ctx.Done():
		a.left.Store(true) // first: what cannot be read then is not stored later
		return ledger.Sequence{}, p.late(ctx.Err())
	case <-n.stopped:
		return ledger.Sequence{}, ErrStopped
	}
}

// handIn has a contract's sender take a request, unless its user has left. The loop calls it.
func (n *Node) handIn(p *place, a *asking, in sender.Submit) {
	n.with(p, len(in.Payload), func() {
		if a.left.Load() { // while the contract was read
			return
		}
		n.feed(core.Submit{Contract: p.address(), Submit: in, Ticket: n.ticket(waiting{
			accepted: func(is core.Accepted) { a.done <- answer{is.Sequence, is.Err} },
			again:    func(again core.Submit) { n.handIn(p, a, again.Submit) },
		})})
	}, func() { a.done <- answer{err: ErrBusy} })
}
