package transactions

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/pending"
)

const (
	reasonPatience = 2 * time.Second  // how long an endpoint is waited for
	reasonAgain    = 10 * time.Second // when it is asked again after it could not say
	mostReplays    = 4                // calls under way; a request that finds no place is answered without a reason
	mostReasons    = 1000             // those that are remembered
	harmless       = "%.300s"         // of other people's words
)

// reasons finds out why calls have reverted, when somebody asks: once for each transaction and block. Nothing else waits for it.
type reasons struct {
	replay func(ctx context.Context, a Account, call chain.Call, height uint64) (why string, err error)
	places chan struct{}
	now    func() time.Time
	mu     sync.Mutex
	known  map[reverted]Revert
}

// reverted is a transaction in a block.
type reverted struct {
	id    pending.ID
	block chain.Hash
}

func newReasons(replay func(context.Context, Account, chain.Call, uint64) (string, error)) *reasons {
	return &reasons{replay: replay, places: make(chan struct{}, mostReplays), now: time.Now, known: map[reverted]Revert{}}
}

// of returns why a transaction has reverted.
func (rs *reasons) of(ctx context.Context, a Account, r pending.Record) Revert {
	key := reverted{r.ID, r.Last.Block.Hash}
	rs.mu.Lock()
	out, is := rs.known[key]
	rs.mu.Unlock()
	if is && (out.again.IsZero() || rs.now().Before(out.again)) {
		return out
	}
	out = Revert{ReplayedAt: max(r.Last.Block.Number, 1) - 1}
	leave, err := place(rs.places)
	if err != nil {
		out.Unknown = "too many ask now: ask again in a moment"
		return out
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, reasonPatience)
	defer cancel()
	why, err := rs.replay(ctx, a, r.Call, out.ReplayedAt)
	switch {
	case err != nil && errors.Is(ctx.Err(), context.Canceled):
		return out // nobody reads it
	case errors.Is(err, context.DeadlineExceeded):
		out.Unknown = "no endpoint of the chain has answered in time: ask again in a moment"
	case err != nil:
		out.Unknown = fmt.Sprintf(harmless, cli.Inert(err.Error()))
	case why == "":
		out.Unknown = "the call does not fail on the state before its block: an earlier transaction of that block was in its way"
	default:
		out.Reason = fmt.Sprintf(harmless, cli.Inert(why))
	}
	if err != nil {
		out.again = rs.now().Add(reasonAgain)
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if len(rs.known) >= mostReasons {
		clear(rs.known)
	}
	rs.known[key] = out
	return out
}

// explain adds why a transaction has reverted.
func (ts *transactions) explain(ctx context.Context, t *Transaction) {
	if t.Outcome == nil || *t.Outcome != pending.Reverted {
		return
	}
	for _, a := range ts.accounts.all() {
		if a.id() == (accountID{t.Chain, t.record.Account}) {
			t.Revert = new(ts.reasons.of(ctx, a, t.record))
			return
		}
	}
}

// replay carries a call out again, as of a height.
func (s *service) replay(ctx context.Context, a Account, call chain.Call, height uint64) (string, error) {
	shared, release, err := s.chains.acquire(a.Chain, s.connect)
	if err != nil {
		return "", err
	}
	defer release()
	return shared.driver.Replay(ctx, a.Address, call, height)
}
