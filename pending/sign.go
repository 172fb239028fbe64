package pending

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/internal/pause"
)

// cancelRoom is by how many percent MostFee is above the dearest attempt that carries a call. A filler has
// to pay more than the attempt that it replaces, or no transaction at the limit could be cancelled.
const cancelRoom = 25

// assign signs the oldest intents and stores the attempts.
func (l *loop) assign(ctx context.Context, a assign) (input, error) {
	brief, cancel := context.WithTimeout(ctx, l.Longest)
	defer cancel()
	since, err := l.since(brief)
	if err != nil {
		return stored{}, err
	}
	queue, late, prepared, err := l.prepare(brief, a, since)
	if err != nil || len(prepared)+len(late) == 0 {
		return stored{}, err
	}
	tried := queue.nextTries()
	batch, out := a.judgeTried(queue, prepared, since)
	batch.Expired = late
	out.Slots, out.Left = batch.New, out.Left+queue.leftOver()
	if out.Hold != nil {
		l.reportUnalarmed(out.Hold)
	}
	if len(batch.New)+len(batch.Rejects)+len(batch.Expired)+len(batch.Held) == 0 {
		return out, nil
	}
	if err := l.write(ctx, batch); err != nil || !changesPutOff(tried, batch) {
		return out, err
	}
	if waits, err := l.waiting(ctx); err != nil { // the next count has them
		l.trouble(err)
	} else {
		out.Waits = &waits
	}
	return out, nil
}

// prepare reads as many of the oldest intents as may get a slot, and has them signed. In strict order it goes on behind
// those that the chain refuses: what is behind them waits until all are judged. Those that are too late are not signed.
func (l *loop) prepare(ctx context.Context, a assign, height uint64) (queue Queue, late []ID, prepared []chain.Prepared, err error) {
	for most := a.Most; ; most = min(2*most, l.MaxBatch) {
		more, gone, next, err := l.prepareBehind(ctx, a, height, queue, most)
		if err != nil && len(prepared) == 0 {
			return queue, nil, nil, err
		}
		if late = gone; err != nil || len(next) == 0 {
			if len(prepared) == 0 {
				queue = more // all that was read is late
			}
			return queue, late, prepared, nil // those before are judged without what is behind
		}
		queue, prepared = more, append(prepared, next...)
		refused := slices.ContainsFunc(next, func(p chain.Prepared) bool { cause, is := blamed(p.Err); return is && !cause.isMoney() })
		if a.Relaxed || most >= l.MaxBatch || !refused {
			return queue, late, prepared, nil
		}
	}
}

// prepareBehind has those signed of the oldest intents that are behind the known ones; none if one of these has gone.
func (l *loop) prepareBehind(ctx context.Context, a assign, height uint64, known Queue, most int) (queue Queue, late []ID, prepared []chain.Prepared, err error) {
	queue, err = l.Store.Queue(ctx, l.Account, a.Relaxed, most)
	queue, late = queue.withoutLate(height)
	old, tried := known.nextTries(), queue.nextTries()
	same := func(a, b Record) bool { return a.ID == b.ID }
	if err != nil || len(tried) <= len(old) || !slices.EqualFunc(old, tried[:len(old)], same) {
		return queue, late, nil, err
	}
	drafts := make([]chain.Draft, 0, len(tried)-len(old))
	terms := make([]Terms, 0, len(tried)-len(old))
	for i := len(old); i < len(tried); i++ {
		drafts = append(drafts, chain.Draft{Account: l.Account, Index: a.First + uint64(i), Call: tried[i].Call, Owed: a.Owed})
		terms = append(terms, tried[i].Terms)
	}
	prepared, err = l.prepareWithin(ctx, drafts, terms)
	return queue, late, prepared, err
}

// errOwnFee means that the fee which is necessary is above the MaxFee of the intent itself.
var errOwnFee = errors.New("its own max_fee")

// prepareWithin has drafts signed within the limits of the account and of their intents. A filler has the account's alone, of which a call
// leaves it a part.
func (l *loop) prepareWithin(ctx context.Context, drafts []chain.Draft, terms []Terms) ([]chain.Prepared, error) {
	most := *l.mostFee.Load()
	own := make([]bool, len(drafts))
	for i := range drafts {
		if drafts[i].Most = most; !drafts[i].Filler {
			drafts[i].Most, own[i] = terms[i].Below(most.Below(cancelRoom))
			drafts[i].Speed = terms[i].Speed
		}
	}
	prepared, err := l.sign(ctx, drafts)
	for i := range prepared {
		if own[i] && errors.Is(prepared[i].Err, chain.ErrFee) {
			prepared[i].Err = fmt.Errorf("%w is %v: %w", errOwnFee, terms[i].MaxFee, prepared[i].Err)
		}
	}
	return prepared, err
}

// changesPutOff reports whether a batch may change what is put off: some is, or one that was may be no longer.
func changesPutOff(tried []Record, b Batch) bool {
	return slices.ContainsFunc(b.Held, func(h Held) bool { return h.Pause > 0 }) ||
		slices.ContainsFunc(tried, func(w Record) bool { return !w.Refusal.Until.IsZero() })
}

// replace signs and stores one more attempt for each slot, with its intent's call or as a filler.
func (l *loop) replace(ctx context.Context, a replace) (input, error) {
	var indices []uint64
	for _, r := range a.Replacements {
		if !r.Filler {
			indices = append(indices, r.Index)
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
	drafts, terms := make([]chain.Draft, len(a.Replacements)), make([]Terms, len(a.Replacements))
	for i, r := range a.Replacements {
		call, known := calls[r.Index]
		if !known && !r.Filler { // never sign an empty call instead: it creates a contract
			return nil, fmt.Errorf("pending: slot %d no longer has an intent", r.Index)
		}
		if r.Gas != 0 { // no new estimate: the first attempt may have been executed by now
			call.Gas = r.Gas
		}
		drafts[i], terms[i] = chain.Draft{Account: l.Account, Index: r.Index, Call: call, Filler: r.Filler, Above: r.Above, Same: r.Same, Stuck: r.Stuck, Brief: r.Brief}, r.Terms
	}
	prepared, err := l.prepareWithin(brief, drafts, terms)
	if err != nil {
		return nil, err
	}
	var out stored
	var batch Batch
	for i, p := range prepared {
		r := a.Replacements[i]
		if p.Err == nil && slices.Contains(r.Outworn, p.Hash) { // the chain has not moved, or it has gone back: a signature may say the same again
			p.Err = chain.ErrEnough
		}
		if errors.Is(p.Err, chain.ErrEnough) {
			out.Unsigned = append(out.Unsigned, unsigned{Index: r.Index, Why: p.Err})
			continue
		}
		if p.Err != nil {
			l.reportUnalarmed(p.Err)
			out.Hold = p.Err
			out.Unsigned = append(out.Unsigned, unsigned{Index: r.Index, Why: p.Err})
			continue
		}
		if p.Filler = r.Filler; r.Late != nil {
			batch.Expired = append(batch.Expired, *r.Late)
		}
		s := Slot{Index: p.Index, Attempts: []chain.Signed{p.Signed}, Before: r.Before, Since: since}
		if out.Slots = append(out.Slots, s); r.Gap {
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

// since waits for a head, and returns its height: a transaction signed now cannot be lower. After a rest it waits for a
// new one: a search that began at an old height would read all blocks since.
func (l *loop) since(ctx context.Context) (uint64, error) {
	for {
		if next := l.headed.Load(); next > 0 {
			return next - 1, nil
		}
		if pause.For(ctx, time.Millisecond) != nil {
			return 0, fmt.Errorf("%w: it has not reported its head yet, and nothing is signed before it has", chain.ErrUnreachable)
		}
	}
}

// reportUnalarmed reports an error of signing that raises no alarm: all later intents wait for it.
func (l *loop) reportUnalarmed(err error) {
	for _, alarmed := range []error{chain.ErrFunds, chain.ErrFee, chain.ErrKey, chain.ErrCall, chain.ErrUnclear} {
		if errors.Is(err, alarmed) {
			return
		}
	}
	l.trouble(err)
}
