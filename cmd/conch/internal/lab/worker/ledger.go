package worker

import (
	"context"
	"errors"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgledger"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pause"
)

const (
	rowMost   = 50 * time.Millisecond // maximum for a row that the gate is told
	lookMost  = 2 * time.Second       // for the highest number
	openMost  = 2 * time.Second       // for a connection: some rounds of a slow line, and not long for an address that is silent
	reconnect = 50 * time.Millisecond
	// eager is the interval for attempts at the first row of a term, whatever the pace: the gate
	// may be shut for a moment, and observers wait for that row.
	eager = 10 * time.Millisecond
)

// keepLedger is the role behind the fenced door. It reads the highest number once and counts
// on from there: no earlier term can commit any more, and nobody else writes in this one.
//
// If the outcome of a commit is unknown, it gives up the leadership. Asking the database
// would not help, since that very commit may complete after the answer. The next term knows.
func (n *node) keepLedger(ctx context.Context, l election.Leadership) error {
	n.writing.Lock()
	defer n.writing.Unlock()
	last, err := n.last(ctx)
	if err != nil {
		return err
	}
	begun := false
	pace := time.NewTicker(min(n.cfg.LedgerPace, eager))
	defer pace.Stop()
	for ctx.Err() == nil {
		err := n.row(ctx, l, last+1)
		switch {
		case err == nil:
			last++
			if !begun {
				begun = true
				pace.Reset(n.cfg.LedgerPace)
				n.acted(l.Token)
			}
		case errors.Is(err, fence.ErrShut): // late: the gate may open again in this term
		case errors.Is(err, fence.ErrStale):
			return err
		case errors.Is(err, pgledger.ErrUnknown):
			n.drop(ctx)
			return err
		default: // rolled back or never sent: the number is still free
			n.drop(ctx)
			if last, err = n.last(ctx); err != nil {
				return err
			}
		}
		select {
		case <-pace.C:
		case <-ctx.Done():
		}
	}
	return nil
}

// row commits one row and acknowledges it. A row that is in progress when the gate shuts gets
// its time: cancelling it would leave its outcome unknown and cost a connection. If it is too
// late, the fence refuses it.
func (n *node) row(ctx context.Context, l election.Leadership, seq int64) error {
	return l.Gate.Do(ctx, fence.Fenced, rowMost, func(ctx context.Context, t fence.Token) error {
		ctx, end := fence.Outlive(ctx, rowMost)
		defer end()
		if err := n.ledger.Append(ctx, seq, t, n.cfg.ID); err != nil {
			return err
		}
		n.rows.Add(1)
		return n.acks.Append(evidence.Ack{Seq: seq, Epoch: t.Epoch, Term: t.Term.String(), At: fence.Boottime()})
	})
}

// look reads the highest number once. It is bounded: the line of an earlier term may have fallen silent since, while the elector leads
// by another address.
func (n *node) look(ctx context.Context) (seq int64, err error) {
	if n.ledger == nil {
		ctx, cancel := context.WithTimeout(ctx, openMost)
		defer cancel()
		if n.ledger, err = pgledger.Open(ctx, n.cfg.Database.URL); err != nil {
			return 0, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, lookMost)
	defer cancel()
	return n.ledger.Last(ctx)
}

// last returns the highest number. It connects if needed and retries until ctx ends.
func (n *node) last(ctx context.Context) (int64, error) {
	for {
		if seq, err := n.look(ctx); err == nil {
			return seq, nil
		}
		n.drop(ctx)
		if err := pause.For(ctx, reconnect); err != nil {
			return 0, err
		}
	}
}
