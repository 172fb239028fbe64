package contracts

import (
	"context"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/evm"
	"github.com/conchhq/conch/sequencer/ledger"
)

// distant is a contract on a chain that may be away when the node starts. It is checked once the chain answers; until then
// each question fails, and so concerns this contract alone.
type distant struct {
	cfg  evm.Config
	turn chan *evm.Ledger // has one, nil until the check
}

var (
	_ sequencer.Ledger   = (*distant)(nil)
	_ sequencer.Reviewer = (*distant)(nil)
)

func newDistant(cfg evm.Config) *distant {
	d := &distant{cfg, make(chan *evm.Ledger, 1)}
	d.turn <- nil
	return d
}

func (d *distant) ledger(ctx context.Context) (l *evm.Ledger, err error) {
	select {
	case l = <-d.turn:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { d.turn <- l }()
	if l == nil {
		l, err = evm.Open(ctx, d.cfg)
	}
	return l, err
}

// Follow implements sequencer.Ledger.
func (d *distant) Follow(ctx context.Context, after uint64, step func(any)) error {
	l, err := d.ledger(ctx)
	if err != nil {
		return err
	}
	return l.Follow(ctx, after, step)
}

// Head implements sequencer.Ledger.
func (d *distant) Head(ctx context.Context) (head, final uint64, err error) {
	l, err := d.ledger(ctx)
	if err != nil {
		return 0, 0, err
	}
	return l.Head(ctx)
}

// Final implements sequencer.Ledger.
func (d *distant) Final(ctx context.Context, intents []ledger.Intent, states []ledger.StateID) (ledger.View, error) {
	l, err := d.ledger(ctx)
	if err != nil {
		return nil, err
	}
	return l.Final(ctx, intents, states)
}

// Submit implements sequencer.Ledger.
func (d *distant) Submit(ctx context.Context, tx ledger.Sent) error {
	l, err := d.ledger(ctx)
	if err != nil {
		return err
	}
	return l.Submit(ctx, tx)
}

// Review implements sequencer.Reviewer.
func (d *distant) Review(ctx context.Context, awaited []ledger.Entry) (lost []ledger.Entry, waits string, err error) {
	l, err := d.ledger(ctx)
	if err != nil {
		return nil, "", err
	}
	return l.Review(ctx, awaited)
}

// Heed implements sequencer.Reviewer.
func (d *distant) Heed(ctx context.Context, told func()) (leave func(), err error) {
	l, err := d.ledger(ctx)
	if err != nil {
		return nil, err
	}
	return l.Heed(ctx, told)
}

// Nudge implements sequencer.Ledger.
func (d *distant) Nudge(ctx context.Context) error {
	l, err := d.ledger(ctx)
	if err != nil {
		return err
	}
	return l.Nudge(ctx)
}
