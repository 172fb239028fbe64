package transactions

import (
	"context"
	"errors"
	"fmt"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/pending"
)

// newReasons finds out why calls have reverted: by the same call as of the height before.
func newReasons(replay func(ctx context.Context, a Account, call chain.Call, height uint64) (why string, err error)) *findings[Revert] {
	return newFindings(func(ctx context.Context, a Account, r pending.Record) (found finding[Revert]) {
		out := Revert{ReplayedAt: heightBefore(r)}
		switch why, err := replay(ctx, a, r.Call, out.ReplayedAt); {
		case errors.Is(err, context.DeadlineExceeded):
			out.Unknown, found.after = errSilent.Error(), findAgain
		case err != nil:
			out.Unknown, found.after = fmt.Sprintf(harmless, cli.Inert(err.Error())), findAgain
		case why == "":
			out.Unknown = "the call does not fail on the state before its block: an earlier transaction of that block was in its way"
		default:
			out.Reason = fmt.Sprintf(harmless, cli.Inert(why))
		}
		found.is = out
		return found
	})
}

// heightBefore returns the height of the block before the transaction's own.
func heightBefore(r pending.Record) uint64 { return max(r.Last.Block.Number, 1) - 1 }

// replay carries a call out again, as of a height.
func (s *service) replay(ctx context.Context, a Account, call chain.Call, height uint64) (string, error) {
	shared, release, err := s.chains.acquire(a.Chain, s.connect)
	if err != nil {
		return "", err
	}
	defer release()
	return shared.driver.Replay(ctx, a.Address, call, height)
}
