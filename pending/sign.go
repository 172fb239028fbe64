package pending

import (
	"context"
	"errors"
	"fmt"

	"github.com/conchhq/conch/chain"
)

// assign signs for the oldest intents and stores what it signed. The indices must
// follow one another, so it ends at the first that cannot be signed.
func (l *loop) assign(ctx context.Context, a Assign) (Input, error) {
	brief, cancel := context.WithTimeout(ctx, l.Longest)
	defer cancel()
	since, err := l.since(brief)
	if err != nil {
		return Stored{}, err
	}
	intents, left, err := l.Store.Queue(brief, l.Account, a.Most)
	if err != nil || len(intents) == 0 {
		return Stored{}, err
	}
	drafts := make([]chain.Draft, len(intents))
	for i, intent := range intents {
		drafts[i] = chain.Draft{Account: l.Account, Index: a.First + uint64(i), Call: intent.Call, Most: l.MostFee}
	}
	prepared, err := l.Chain.Prepare(brief, drafts)
	if err != nil {
		return nil, err
	}
	out := Stored{Left: left}
	var batch Batch
	for i, p := range prepared {
		if errors.Is(p.Err, chain.ErrCall) || l.hopeless(intents[i].ID, p.Err) {
			batch.Rejects = append(batch.Rejects, Reject{Intent: intents[i].ID, Why: p.Err.Error()})
			out.Left += len(prepared) - i - 1
			break
		}
		if p.Err != nil {
			out.Hold = &heldError{intents[i].ID, p.Err}
			l.puzzled(out.Hold)
			out.Left += len(prepared) - i
			break
		}
		batch.New = append(batch.New, Slot{
			Index: p.Index, Intent: &intents[i].ID, Attempts: []Attempt{{Signed: p.Signed}}, Since: since,
		})
	}
	if len(batch.New)+len(batch.Rejects) == 0 {
		return out, nil
	}
	out.Slots = batch.New
	return out, l.write(ctx, batch)
}

// replace signs further attempts, each carrying the slot's own intent or nothing.
func (l *loop) replace(ctx context.Context, a Replace) (Input, error) {
	var indices []uint64
	for _, w := range a.Wishes {
		if !w.Filler {
			indices = append(indices, w.Index)
		}
	}
	brief, cancel := context.WithTimeout(ctx, l.Longest)
	defer cancel()
	since, err := l.since(brief)
	if err != nil {
		return nil, err
	}
	calls, err := l.Store.Calls(brief, l.Account, indices)
	if err != nil {
		return nil, err
	}
	drafts := make([]chain.Draft, len(a.Wishes))
	for i, w := range a.Wishes {
		call, known := calls[w.Index]
		if !known && !w.Filler { // an empty call is one too: it makes a contract
			return nil, fmt.Errorf("pending: no intent is stored for slot %d any more", w.Index)
		}
		call.Gas = w.Gas // not estimated anew: the first attempt may have been executed by now
		drafts[i] = chain.Draft{
			Account: l.Account, Index: w.Index, Call: call, Filler: w.Filler, Above: w.Above, Most: l.MostFee,
		}
	}
	prepared, err := l.Chain.Prepare(brief, drafts)
	if err != nil {
		return nil, err
	}
	var out Stored
	var batch Batch
	for i, p := range prepared {
		w := a.Wishes[i]
		if p.Err != nil {
			l.puzzled(p.Err)
			out.Hold = p.Err
			out.Unsigned = append(out.Unsigned, Unsigned{Index: w.Index, Why: p.Err})
			continue
		}
		s := Slot{Index: p.Index, Attempts: []Attempt{{Signed: p.Signed, Filler: w.Filler}}, Before: w.Before, Since: since}
		if out.Slots = append(out.Slots, s); w.New {
			batch.New = append(batch.New, s)
		} else {
			batch.Attempts = append(batch.Attempts, s)
		}
	}
	if len(out.Slots) == 0 {
		return out, nil
	}
	return out, l.write(ctx, batch)
}

// since is the height that what is signed now cannot be below. It is waited for: with
// the first look at the chain it is there.
func (l *loop) since(ctx context.Context) (uint64, error) {
	select {
	case <-l.headed:
		return l.height.Load(), nil
	case <-ctx.Done():
		return 0, fmt.Errorf("%w: it has not told its head yet, and nothing is signed before it has", chain.ErrUnreachable)
	}
}

// puzzled tells of what kept something from being signed and has no alarm of its own:
// it is tried again with each block, and all that waits behind it waits too.
func (l *loop) puzzled(err error) {
	for _, alarmed := range []error{chain.ErrFunds, chain.ErrFee, chain.ErrKey, chain.ErrCall, chain.ErrUnclear} {
		if errors.Is(err, alarmed) {
			return
		}
	}
	l.trouble(err)
}
