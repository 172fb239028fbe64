package endpoints

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/conchhq/conch/chain"
)

// ahead is how many blocks above the followed head another endpoint's has to be for reads to move.
const ahead = 3

// Heads implements chain.Chain. It follows one endpoint, and goes on at another where it was.
func (s *Set) Heads(ctx context.Context, from chain.Block) iter.Seq2[chain.Turn, error] {
	return func(yield func(chain.Turn, error) bool) {
		last, failed := from, 0
		lost := map[*member]bool{} // endpoints that could not link: what was followed may be a dead branch
		for {
			m := s.order()[0]
			s.stick(m)
			moved, stopped, err := s.follow(ctx, m, &last, yield)
			switch {
			case stopped:
				return
			case ctx.Err() != nil:
				yield(chain.Turn{}, ctx.Err())
				return
			case errors.Is(err, chain.ErrThread):
				lost[m] = true
			case moved:
				failed = 0
				continue
			}
			if failed++; failed > len(s.members) || len(lost) == len(s.members) { // none can link, or all are down
				yield(chain.Turn{}, err)
				return
			}
		}
	}
}

// follow passes on the turns of one endpoint, until it errs or another one should be followed. moved
// reports that it had turns to pass on, or that another one is to be followed.
func (s *Set) follow(ctx context.Context, m *member, last *chain.Block, yield func(chain.Turn, error) bool) (moved, stopped bool, err error) {
	inner, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	heads := make(chan chain.Block, 1) // the newest head that was followed
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		s.watch(inner, m, heads, leave)
	}()
	defer func() { leave(nil); <-watching }()
	for turn, fault := range m.Chain.Heads(inner, *last) {
		if fault != nil {
			err = fault
			break
		}
		turn.By = m.Name
		if !yield(turn, nil) {
			return moved, true, nil
		}
		switch turn.Kind {
		case chain.Applied:
			*last = turn.Block
		case chain.Reverted:
			*last = chain.Block{Number: turn.Block.Number - 1, Hash: turn.Block.Parent}
		case chain.Finalized:
		}
		moved = true
		select {
		case <-heads:
		default:
		}
		heads <- *last
	}
	if errors.Is(context.Cause(inner), errBehind) {
		return true, false, nil
	}
	s.noteError(ctx, m, err)
	return moved, false, err
}

var errBehind = errors.New("another endpoint is ahead")

// tipper is a chain.Chain that can say its head.
type tipper interface {
	Tip(ctx context.Context) (chain.Block, error)
}

// watch compares the heads of the other endpoints with that of the followed one. It leaves that if
// another one is far ahead, twice in a row, with a head that links to what is followed: a number alone
// proves nothing, since an endpoint may say any (W4).
func (s *Set) watch(ctx context.Context, followed *member, heads <-chan chain.Block, leave context.CancelCauseFunc) {
	tick := time.NewTicker(s.cfg.Watch)
	defer tick.Stop()
	var last chain.Block
	var before *member
	for {
		select {
		case <-ctx.Done():
			return
		case last = <-heads:
			continue
		case <-tick.C:
		}
		better := s.better(ctx, followed, last)
		if better != nil && better == before {
			s.stick(better)
			leave(errBehind)
			return
		}
		before = better
	}
}

// better returns an endpoint that is far ahead of the followed one and leads over its head, or nil.
func (s *Set) better(ctx context.Context, followed *member, last chain.Block) *member {
	if last.Hash == "" {
		return nil
	}
	for _, m := range s.members {
		t, can := m.Chain.(tipper)
		if m == followed || !can {
			continue
		}
		tip, err := t.Tip(ctx)
		if err != nil || tip.Number < last.Number+ahead {
			continue
		}
		if linked, err := m.Chain.Linked(ctx, tip, []chain.Block{last}); err == nil && linked[0] {
			return m
		}
	}
	return nil
}
