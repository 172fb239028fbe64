package quorum

import (
	"context"
	"errors"
	"fmt"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum/internal/core"
)

// mostReading is how many queries run at a time. They run beside the loop, and must leave it a processor.
const mostReading = 4

// shown is what users read: a view of a copy, whose content is on the disk.
type shown struct {
	of   *txlog.Copy
	view txlog.View
	at   txlog.Position
	err  error // why there is none
}

// Query answers a query from the copy that is in memory, and says of which position the answer is. The entries up to there are on the disk. It holds
// nothing up while the state machine works, for as long as txlog.Budget allows. The error is txlog.ErrBudget, ErrStopped, the query's fault, or
// it wraps txlog.ErrUnknown.
func (h *Host) Query(ctx context.Context, query []byte) (result []byte, at txlog.Position, err error) {
	if len(query) > mostQuery {
		return nil, at, fmt.Errorf("%w: a query of %d bytes, of %d at most", txlog.ErrSize, len(query), mostQuery)
	}
	return h.query(ctx, query, 0)
}

// Fresh answers a query so that the answer has everything that was acknowledged before: a majority of the members is asked up to where
// the copy has to come, and the view is taken after that. It says of which position the answer is; without a query only of which index this
// is true. The error is ErrManyReads, ErrLags, member.ErrUnconfirmed, or one of Query.
func (h *Host) Fresh(ctx context.Context, query []byte) (result []byte, at txlog.Position, err error) {
	if len(query) > mostQuery {
		return nil, at, fmt.Errorf("%w: a query of %d bytes, of %d at most", txlog.ErrSize, len(query), mostQuery)
	}
	a, err := h.ask(ctx, func(ticket uint64) core.Input { return core.Read{Ticket: ticket} })
	if errors.Is(err, txlog.ErrTooMany) { // which is about goals
		err = ErrManyReads
	}
	if err != nil || query == nil {
		return nil, txlog.Position{Log: h.log, Index: a.Index, Hash: a.Hash}, err
	}
	return h.query(ctx, query, a.Index)
}

// query asks a view that has come to an index, or says that nobody knows: the copy may have been made anew since it was there.
func (h *Host) query(ctx context.Context, query []byte, index uint64) ([]byte, txlog.Position, error) {
	select {
	case h.reading <- struct{}{}:
		defer func() { <-h.reading }()
	case <-ctx.Done():
		return nil, txlog.Position{}, unanswered(ctx)
	}
	now, err := h.show(ctx)
	if err == nil && now.at.Index < index {
		err = errAgain
	}
	if err != nil {
		return nil, txlog.Position{}, err
	}
	result, err := txlog.Ask(now.view, query)
	return result, now.at, err
}

// show returns what users read now. Those that come at one position share a view.
func (h *Host) show(ctx context.Context) (shown, error) {
	got := make(chan shown, 1)
	look := func() {
		if h.core == nil {
			got <- shown{err: ErrStopped}
			return
		}
		if h.shown.view == nil || h.shown.of != h.core.Copy() || h.shown.at != h.core.Copy().Position() {
			s := shown{of: h.core.Copy()}
			s.view, s.at, s.err = h.core.View()
			h.shown = s
		}
		got <- h.shown
	}
	select {
	case h.using <- struct{}{}:
		if h.storing {
			h.readers = append(h.readers, look)
		} else {
			look()
		}
		<-h.using
	case <-ctx.Done():
		return shown{}, unanswered(ctx)
	}
	select {
	case s := <-got:
		return s, s.err
	case <-ctx.Done():
		return shown{}, unanswered(ctx)
	}
}

// stored lets those read that have waited.
func (h *Host) stored() {
	h.storing = false
	for _, look := range h.readers {
		look()
	}
	h.readers = nil
}

func unanswered(ctx context.Context) error {
	return fmt.Errorf("%w: %w", context.Cause(ctx), txlog.ErrUnknown)
}
