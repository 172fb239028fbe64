package node

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/internal/ancestry"
	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/internal/step"
)

// path is the state of one call of Heads.
type path struct {
	trail  *ancestry.Trail
	doubt  ancestry.Doubt
	doubts bool // the last head was passed over
}

// Heads is that of chain.Chain. Subscriptions wake it, and nothing else is taken from them: a head may be skipped, and a
// subscription may be silent for ever. So the head and the final block are asked for.
func (v *View) Heads(ctx context.Context, from chain.Block) iter.Seq2[chain.Turn, error] {
	return func(yield func(chain.Turn, error) bool) {
		if err := v.follow(ctx, from, func(turn chain.Turn) bool { return yield(turn, nil) }); err != nil {
			yield(chain.Turn{}, err)
		}
	}
}

func (v *View) follow(ctx context.Context, from chain.Block, yield func(chain.Turn) bool) error {
	p := &path{trail: ancestry.NewTrail(remembered, v.memory.Thread(from)...)}
	listening, stop := context.WithCancel(ctx)
	news, told := step.NewWake(), make(chan bool, 1)
	over := make(chan struct{})
	go func() { defer close(over); v.listen(listening, news, told) }()
	defer func() { stop(); <-over }()
	every := v.cfg.Poll
	poll := time.NewTimer(0)
	defer poll.Stop()
	for {
		wanted, err := v.look(ctx, p, yield)
		if err != nil || !wanted {
			return err
		}
		if poll.Reset(every); p.doubts {
			poll.Reset(v.cfg.Poll) // nobody tells of a head that was told already
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-poll.C:
		case <-news:
		case heard := <-told:
			if every = v.cfg.Poll; heard {
				every = v.cfg.Anyway
			}
		}
	}
}

// listen rings when the endpoint tells of a head or of a final block, and says whether it does so at all. A subscription that has ended
// is made again.
func (v *View) listen(ctx context.Context, news step.Wake, told chan<- bool) {
	say := func(heard bool) {
		select {
		case told <- heard:
		case <-ctx.Done():
		}
	}
	pauses := pause.Growing{First: v.cfg.Poll, Most: v.cfg.Anyway}
	for ctx.Err() == nil {
		ring := func(json.RawMessage) { news.Ring() }
		best, err := v.client.Subscribe(ctx, ring, "chain_subscribeNewHeads", "chain_unsubscribeNewHeads")
		if err != nil {
			_ = pause.For(ctx, pauses.Next())
			continue
		}
		final, err := v.client.Subscribe(ctx, ring, "chain_subscribeFinalizedHeads", "chain_unsubscribeFinalizedHeads")
		if err == nil {
			pauses.Reset()
			say(true)
			news.Ring() // one may have come before the subscription was there
			select {
			case <-ctx.Done():
			case <-best.Done():
			case <-final.Done():
			}
			final.Stop()
		}
		if best.Stop(); ctx.Err() == nil {
			say(false)
			_ = pause.For(ctx, pauses.Next())
		}
	}
}

// look reads the head and the final block, and reports whether yield wants more.
func (v *View) look(ctx context.Context, p *path, yield func(chain.Turn) bool) (wanted bool, err error) {
	head, final, err := v.Tips(ctx)
	if err != nil {
		return true, err
	}
	turns, err := v.toHead(ctx, p, head.Block)
	if err != nil || !v.report(turns, yield) {
		return false, err
	}
	if final.Hash == "" {
		return true, nil
	}
	finals, err := p.trail.TakeFinal(final.Block, func(oldest, b chain.Block) (bool, error) {
		linked, err := v.Linked(ctx, oldest, []chain.Block{b})
		return err == nil && linked[0], err
	})
	if errors.Is(err, chain.ErrThread) || err != nil && len(turns) > 0 {
		err = nil // the next look asks again
	}
	return v.report(finals, yield), err
}

// toHead returns the turns to a head; none if it is to be passed over (W4).
func (v *View) toHead(ctx context.Context, p *path, head chain.Block) ([]chain.Turn, error) {
	last, following := p.trail.Below(0)
	p.doubts = true
	if p.doubt.Passes(last, head) {
		return nil, nil
	}
	if following && head.Number > last.Number+1 {
		v.prefetch(ctx, max(last.Number, head.Number-min(head.Number, mostAtOnce))+1, head.Number-1)
	}
	turns, err := p.trail.TakeHead(head, func(h chain.Hash) (chain.Block, error) { return v.Block(ctx, h) })
	if errors.Is(err, chain.ErrThread) && following && !p.doubt.Unlinked() {
		return nil, nil // another backend may link its head
	}
	p.doubts = false
	if err == nil {
		p.doubt.Linked()
	}
	return turns, err
}

func (v *View) report(turns []chain.Turn, yield func(chain.Turn) bool) (wanted bool) {
	for _, turn := range turns {
		if turn.By = v.String(); !yield(turn) {
			return false
		}
	}
	return true
}
