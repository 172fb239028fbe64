package sequencer

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"

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
	if !n.with(p, len(in.Payload), func(c *contract) {
		if a.left.Load() { // while the contract was read
			return
		}
		c.asking = a
		c.toSender(in)
		c.asking = nil
	}) {
		a.done <- answer{err: ErrBusy}
	}
}

// numbered notes who asks for the intents that a Store has: the one who hands one in now. By the key one could hear of
// another's request.
func (c *contract) numbered(rows []sender.IntentRow) {
	for _, row := range rows {
		if c.asking != nil {
			c.asks[row.Sequence] = c.asking
		}
	}
}

// accepted tells who has asked for an intent.
func (c *contract) accepted(of ledger.Sequence, a answer) {
	if asks := c.asks[of]; asks != nil {
		asks.done <- a
		delete(c.asks, of)
	}
}

// twice tells a user what the first row of the key says. If that row was forgotten meanwhile the key is free again, and the
// request is handed in once more.
func (c *contract) twice(s sender.Store, second ledger.Sequence) {
	for _, row := range s.Intents {
		if row.Sequence != second {
			continue
		}
		c.n.apart(func() {
			found, is, err := c.n.cfg.Store.Find(c.n.ctx, c.address(), row.Key)
			if err == nil && !is {
				c.n.post(func() { c.again(row) })
				return
			}
			if err == nil && (!bytes.Equal(found.Payload, row.Payload) || found.Deadline != row.Deadline) {
				err = fmt.Errorf("%w: %q", ErrConflict, row.Key)
			}
			c.n.post(func() { c.accepted(second, answer{found.Sequence, err}) })
		})
	}
}

// again hands a request in whose row was not stored.
func (c *contract) again(row sender.IntentRow) {
	a := c.asks[row.Sequence]
	delete(c.asks, row.Sequence)
	if a != nil {
		c.n.handIn(c.n.contracts[c.address()], a, sender.Submit{Key: row.Key, Payload: row.Payload, Deadline: row.Deadline})
	}
}
