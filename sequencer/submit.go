package sequencer

import (
	"context"

	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Submit hands an intent in: what a user asks for, under a key of theirs. A key that was used before for the same request
// names the intent of that time; for another request the error is ErrConflict. When Submit returns without an error, the
// intent is stored (P28), and ends confirmed or reverted. A deadline is a block; 0 is none. After ErrBusy,
// ErrContract, ErrConflict, a *RequestError or an *UnreadError it is not stored. After another error it may be: ask again
// with the same key.
func (n *Node) Submit(ctx context.Context, address, key string, request []byte, deadline uint64) (ledger.Sequence, error) {
	p, err := n.placeOf(address)
	if err != nil {
		return ledger.Sequence{}, err
	}
	payload, err := p.set.Rules.Prepare(request)
	if err != nil {
		return ledger.Sequence{}, &RequestError{err}
	}
	is, err := ask(ctx, n, address, func(p *place, answer func(core.Accepted), busy func()) {
		n.handIn(ctx, p, sender.IntentRow{Key: key, Payload: payload, Deadline: deadline}, waiting{accepted: answer, busy: busy})
	})
	if err != nil {
		return ledger.Sequence{}, err
	}
	return is.Sequence, is.Err
}

// handIn has a contract's sender take a request, unless its user has left by then: to read a contract may take long, and what
// cannot be read is not stored later.
func (n *Node) handIn(ctx context.Context, p *place, in sender.IntentRow, w waiting) {
	w.again = func(again core.Submit) { n.handIn(ctx, p, again.IntentRow, w) }
	n.with(p, len(in.Payload), func() {
		if ctx.Err() == nil {
			n.feed(core.Submit{Contract: p.address(), IntentRow: in, Ticket: n.ticket(w)})
		}
	}, w.busy)
}
