package pending

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// cancelRoom is by how many percent MostFee is above the dearest attempt that carries a call. A filler has
// to pay more than the attempt that it replaces, or no transaction at the limit could be cancelled.
const cancelRoom = 25

// assign signs the oldest intents and stores the attempts. It stops at the first intent that cannot
// be signed, since nonces must not have gaps.
func (l *loop) assign(ctx context.Context, a assign) (input, error) {
	brief, cancel := context.WithTimeout(ctx, l.Longest)
	defer cancel()
	since, err := l.since(brief)
	if err != nil {
		return stored{}, err
	}
	intents, left, err := l.Store.Queue(brief, l.Account, a.Most)
	if err != nil || len(intents) == 0 {
		return stored{}, err
	}
	most := l.mostFee.Load().Below(cancelRoom)
	drafts := make([]chain.Draft, len(intents))
	for i, intent := range intents {
		drafts[i] = chain.Draft{Account: l.Account, Index: a.First + uint64(i), Call: intent.Call, Most: most}
	}
	prepared, err := l.Chain.Prepare(brief, drafts)
	if err != nil {
		return nil, err
	}
	out := stored{Left: left}
	var batch Batch
	for i, p := range prepared {
		if l.isRefused(intents[i].ID, a.First+uint64(i), p.Err) || l.countUnclear(intents[i].ID, p.Err) {
			batch.Rejects = append(batch.Rejects, Reject{Intent: intents[i].ID, Why: p.Err.Error()})
			out.Left += len(prepared) - i - 1
			break
		}
		if p.Err != nil {
			out.Hold = &heldError{intents[i].ID, p.Err}
			l.reportUnalarmed(out.Hold)
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
	drafts := make([]chain.Draft, len(a.Replacements))
	for i, r := range a.Replacements {
		call, known := calls[r.Index]
		if !known && !r.Filler { // never sign an empty call instead: it creates a contract
			return nil, fmt.Errorf("pending: slot %d no longer has an intent", r.Index)
		}
		if r.Gas != 0 { // no new estimate: the first attempt may have been executed by now
			call.Gas = r.Gas
		}
		most := *l.mostFee.Load()
		if !r.Filler {
			most = most.Below(cancelRoom)
		}
		drafts[i] = chain.Draft{Account: l.Account, Index: r.Index, Call: call, Filler: r.Filler, Above: r.Above, Most: most, Stuck: r.Stuck}
	}
	prepared, err := l.Chain.Prepare(brief, drafts)
	if err != nil {
		return nil, err
	}
	var out stored
	var batch Batch
	for i, p := range prepared {
		r := a.Replacements[i]
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
		s := Slot{Index: p.Index, Attempts: []Attempt{{Signed: p.Signed, Filler: r.Filler}}, Before: r.Before, Since: since}
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
		if pause(ctx, time.Millisecond) != nil {
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

// An intent refused with an unrecognised error, while the node accepts another call, is retried 20
// times over at least two minutes, then rejected. Without the minutes, fast blocks would use up the
// tries in a moment, and a node can be in trouble for longer.
const (
	maxUnclearTries = 20
	minUnclearTime  = 2 * time.Minute
)

// refusals has what the loop knows of intents that were refused before they got a nonce. Only assign uses
// it, of which one runs at a time.
type refusals map[ID]*refusal

type refusal struct {
	times  int
	since  fence.Instant
	height uint64 // the chain's, at the first refusal
	next   uint64 // the nonce that the intent would have got then
}

// note counts a refusal of an intent. It forgets all if there are too many, which only costs time.
func (r *refusals) note(intent ID, now fence.Instant, height, next uint64) *refusal {
	if *r == nil || len(*r) >= mostRefusals {
		*r = refusals{}
	}
	one := (*r)[intent]
	if one == nil {
		one = &refusal{since: now, height: height, next: next}
		(*r)[intent] = one
	}
	one.times++
	return one
}

// mostRefusals bounds how many intents are remembered.
const mostRefusals = 10_000

// isRefused reports whether the chain does not execute an intent's call. One answer is not enough: an
// estimate of an endpoint that is behind, or one before the account's earlier calls are in blocks, fails
// for a call that would succeed (W12).
func (l *loop) isRefused(intent ID, next uint64, why error) bool {
	if !errors.Is(why, chain.ErrCall) {
		return false
	}
	now, height := l.Clock(), l.headed.Load()
	if height == 0 {
		return false // no block can have come since
	}
	first := l.refusals.note(intent, now, height, next)
	return height >= first.height+believedAfter && now.Sub(first.since) >= l.RejectAfter && l.best.Load() >= first.next
}

// countUnclear counts an unrecognised refusal, and reports whether to reject the intent. Errors about
// the node or the account do not count: the intent is not to blame.
func (l *loop) countUnclear(intent ID, why error) (reject bool) {
	if !errors.Is(why, chain.ErrUnclear) {
		return false
	}
	now := l.Clock()
	first := l.refusals.note(intent, now, l.headed.Load(), 0)
	return first.times >= maxUnclearTries && now.Sub(first.since) >= minUnclearTime
}
